/**
 * Markdown that streams, cut into blocks. Blocks that are finished keep their object from one text to the next,
 * so that their elements stay in the document and a selection in them survives. Only the last blocks, which more
 * text can still change, are read again; while text streams, their open marks are closed for the eye.
 */
import { Lexer, type Token } from 'marked';
import remend from 'remend';

export interface Block {
  /** Its place: stable while the text grows. */
  readonly key: number;
  readonly raw: string;
  readonly token: Token;
  /** The level a heading is drawn with for assistive technology: it never skips one. */
  readonly level: number;
}

/** More text can turn the last two blocks into one (a list that goes on after an empty line). */
const OPEN_BLOCKS = 2;
/** Headings in a message stand below the screen's own. */
const BASE_LEVEL = 2;

const lex = (text: string): Token[] => new Lexer({ gfm: true, breaks: true }).lex(text);

export class BlockReader {
  private blocks: Block[] = [];
  private text = '';

  read(text: string, streaming: boolean): readonly Block[] {
    const growing = streaming && text.startsWith(this.text);
    const kept = growing ? this.finished() : [];
    const done = kept.reduce((sum, block) => sum + block.raw.length, 0);
    const tail = text.slice(done);
    this.blocks = this.join(kept, lex(tail), streaming ? lex(remend(tail)) : null);
    this.text = text;
    return this.blocks.filter((block) => block.token.type !== 'space' && block.token.type !== 'def');
  }

  /** The blocks that more text cannot change. */
  private finished(): Block[] {
    let open = 0;
    let end = this.blocks.length;
    while (end > 0 && open < OPEN_BLOCKS) {
      end -= 1;
      if (this.blocks[end]?.token.type !== 'space') open += 1;
    }
    return this.blocks.slice(0, end);
  }

  /** `raw` says where blocks end in the real text; `closed` is how they look with their open marks closed. */
  private join(kept: Block[], raw: Token[], closed: Token[] | null): Block[] {
    const blocks = [...kept];
    let level = kept.reduce(
      (last, block) => (block.token.type === 'heading' ? block.level : last),
      BASE_LEVEL,
    );
    raw.forEach((token, index) => {
      const shown = closed?.[index]?.type === token.type ? (closed[index] ?? token) : token;
      if (token.type === 'heading') level = Math.min(token['depth'] + BASE_LEVEL, level + 1, 6);
      const key = blocks.length;
      const old = this.blocks[key];
      const same =
        old?.raw === token.raw &&
        old.token.type === token.type &&
        old.token.raw === shown.raw &&
        old.level === level;
      blocks.push(same ? old : { key, raw: token.raw, token: shown, level });
    });
    return blocks;
  }
}
