/** What a person can send again after a turn that failed. Pure. */
import type { Item } from '$lib/contract';

/**
 * The text of the person's last message; `null` where there is none, or where it is more than text that is all here:
 * an image, or a text of which only the beginning is.
 */
export function lastSaid(items: readonly { readonly item: Pick<Item, 'body'> }[]): string | null {
  for (let at = items.length - 1; at >= 0; at -= 1) {
    const body = items[at]?.item.body;
    if (body?.kind !== 'message' || body.role !== 'user') continue;
    const texts = body.parts.map((part) => (part.kind === 'text' && part.handle === null ? part.text : null));
    return texts.length === 0 || texts.includes(null) ? null : texts.join('\n');
  }
  return null;
}
