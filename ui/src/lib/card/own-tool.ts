/** What a call of one of this app's own tools would do, as texts to read. Pure. */
import type { OwnToolCall } from '$lib/contract';

/** The one text of it that is the longest to read and that is copied: an address, a message, the clipboard's. */
export function mainText(call: OwnToolCall): string {
  switch (call.tool) {
    case 'notify_user':
      return call.body;
    case 'open_link':
      return call.url;
    case 'write_clipboard':
      return call.text;
    case 'read_clipboard':
      return '';
  }
}

/** Every text of it: what cannot be seen in any of them is said. */
export function textsOf(call: OwnToolCall): string[] {
  return call.tool === 'notify_user' ? [call.title, call.body] : [mainText(call)];
}

/**
 * True where the arguments hold anything that the card does not show in its own fields, or cannot be read: then they
 * are shown beside them.
 */
export function saysMore(input: string, call: OwnToolCall): boolean {
  if (input.trim() === '') return false;
  let parsed: unknown;
  try {
    parsed = JSON.parse(input);
  } catch {
    return true;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return true;
  const shown = new Set(textsOf(call));
  return Object.values(parsed).some((value) => typeof value !== 'string' || !shown.has(value));
}

/** The host of a link and whether this app opens such an address at all. */
export function linkParts(url: string): { readonly host: string; readonly opens: boolean } {
  try {
    const read = new URL(url);
    const opens = ['http:', 'https:', 'mailto:'].includes(read.protocol);
    return { host: read.hostname, opens };
  } catch {
    return { host: '', opens: false };
  }
}
