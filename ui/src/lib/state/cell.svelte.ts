/**
 * One item of the transcript as the page holds it. The item itself changes as a whole; text that streams has a
 * cell of its own, so that a delta touches one text node and nothing else.
 */
import type { Item, Text } from '$lib/contract';

export class TextCell {
  text = $state.raw('');
  /** Characters of the whole text. */
  chars = $state.raw(0);
  /** How to read the whole, where `text` is only the beginning. */
  handle = $state.raw<string | null>(null);

  constructor(text: Text) {
    this.set(text);
  }

  set(text: Text): void {
    this.text = text.text;
    this.chars = text.chars;
    this.handle = text.handle;
  }

  append(more: string): void {
    // A text that is only a beginning must not get its end glued on: the whole is read by handle.
    if (this.handle === null) this.text += more;
    this.chars += [...more].length;
  }
}

/** Texts of an item, by the part number that patches use; -1 is the text of a thought or the input of a tool. */
function textsOf(item: Item): Map<number, Text> {
  const texts = new Map<number, Text>();
  const body = item.body;
  if (body.kind === 'message') {
    body.parts.forEach((part, index) => {
      if (part.kind === 'text') texts.set(index, part);
    });
  } else if (body.kind === 'thought') texts.set(-1, body.text);
  else if (body.kind === 'tool') texts.set(-1, body.input);
  return texts;
}

export class ItemCell {
  readonly id: string;
  item: Item = $state.raw() as Item;
  private texts = $state.raw(new Map<number, TextCell>());

  constructor(item: Item) {
    this.id = item.id;
    this.replace(item);
  }

  get order(): number {
    return this.item.order;
  }

  /** Takes the item's new state; texts that are still there keep their cells. */
  replace(item: Item): void {
    const texts = new Map<number, TextCell>();
    for (const [part, text] of textsOf(item)) {
      const known = this.texts.get(part);
      known?.set(text);
      texts.set(part, known ?? new TextCell(text));
    }
    const same = texts.size === this.texts.size && [...texts.keys()].every((part) => this.texts.has(part));
    if (!same) this.texts = texts;
    this.item = item;
  }

  /** The cell of a message's part, or of the thought's text or the tool's input. */
  text(part: number | null): TextCell | undefined {
    return this.texts.get(part ?? -1);
  }

  /** Appends a delta. `false` = there is no such text here: patches were missed. */
  append(part: number | null, more: string): boolean {
    const cell = this.text(part);
    cell?.append(more);
    return cell !== undefined;
  }
}
