/**
 * Terminal output as spans. Colours and weight are kept; every other control is dropped, a carriage return
 * collapses a line to what was written last, and nothing can move, hide or link.
 */
import Anser from 'anser';

export interface AnsiSpan {
  readonly text: string;
  /** A colour token's name: `red`, `green`, …; `null` = the text's own. */
  readonly colour: string | null;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
}

/* eslint-disable no-control-regex -- controls are what is looked for */

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

const STRINGS = /\u001B[\]PX^_][\s\S]*?(?:\u0007|\u001B\\|\u009C)/g;
const CONTROLS =
  /\u001B\[[0-?]*[ -/]*[@-ln-~]|\u001B[ -/]*[0-Z\\^_`a-z{|}~]|[\u0000-\u0008\u000B\u000C\u000E-\u001A\u001C-\u001F\u007F-\u009F]/g;

/** Whether a text holds anything that needs reading as terminal output. */
export function hasAnsi(text: string): boolean {
  return text.includes('\u001B') || text.includes('\r');
}

/** Drops every control but colours, and applies carriage returns. */
export function sanitise(text: string): string {
  const safe = text.replace(STRINGS, '').replace(CONTROLS, '').replace(/\r+\n/g, '\n');
  if (!safe.includes('\r')) return safe;
  return safe
    .split('\n')
    .map((line) => line.slice(line.replace(/\r+$/, '').lastIndexOf('\r') + 1).replace(/\r+$/, ''))
    .join('\n');
}

/** What a copy gives: the text alone. */
export function plain(text: string): string {
  return ansiSpans(text)
    .map((span) => span.text)
    .join('');
}

export function ansiSpans(text: string): AnsiSpan[] {
  return Anser.ansiToJson(sanitise(text), { json: true, use_classes: true, remove_empty: true }).map(
    (entry) => ({
      // A lone escape that introduced nothing is left by the reader; it must not reach the page.
      text: entry.content.replace(/\u001B/g, ''),
      colour:
        COLOURS.find((colour) => entry.fg === `ansi-${colour}` || entry.fg === `ansi-bright-${colour}`) ??
        null,
      bold: entry.decorations.includes('bold'),
      dim: entry.decorations.includes('dim'),
      italic: entry.decorations.includes('italic'),
      underline: entry.decorations.includes('underline'),
    }),
  );
}
