/**
 * Reads a conversation that a person pasted: JSON as agents' APIs write it, or lines that begin with who speaks. Pure.
 * Nothing is guessed and nothing left out: what cannot be taken over is said.
 */
import type { ImportedMessage, Role } from '$lib/contract';

export type ImportProblem =
  | { readonly kind: 'no_json' | 'no_list' }
  | { readonly kind: 'no_message' | 'no_text'; readonly index: number }
  | { readonly kind: 'no_role'; readonly index: number; readonly role: string }
  | { readonly kind: 'not_text'; readonly index: number; readonly type: string }
  | { readonly kind: 'no_prefix'; readonly line: number };

export type Imported = { readonly messages: ImportedMessage[] } | { readonly problem: ImportProblem };

const ROLES: Record<string, Role> = { user: 'user', agent: 'agent', assistant: 'agent', system: 'system' };
const role = (word: string): Role | undefined =>
  Object.hasOwn(ROLES, word.toLowerCase()) ? ROLES[word.toLowerCase()] : undefined;

/** Who speaks, in both languages of this app, before a colon of either script. */
const PREFIX = /^\s*(user|agent|assistant|system|用户|智能体|助手|系统)\s*[:：][ \t]?/iu;
const SPOKEN: Record<string, Role> = {
  ...ROLES,
  用户: 'user',
  智能体: 'agent',
  助手: 'agent',
  系统: 'system',
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The text of a message's content, or the type of what is none. */
function textOf(content: unknown): { text: string } | { type: string } {
  if (typeof content === 'string') return { text: content };
  if (!Array.isArray(content)) return { text: '' };
  const texts: string[] = [];
  for (const block of content) {
    if (typeof block === 'string') texts.push(block);
    else if (isRecord(block) && (block['type'] ?? 'text') === 'text' && typeof block['text'] === 'string')
      texts.push(block['text']);
    else return { type: isRecord(block) && typeof block['type'] === 'string' ? block['type'] : '?' };
  }
  return { text: texts.join('\n') };
}

function readJson(source: string): Imported {
  let parsed: unknown;
  try {
    parsed = JSON.parse(source);
  } catch {
    return { problem: { kind: 'no_json' } };
  }
  const list = isRecord(parsed) ? parsed['messages'] : parsed;
  if (!Array.isArray(list)) return { problem: { kind: 'no_list' } };
  const messages: ImportedMessage[] = [];
  for (const [at, entry] of list.entries()) {
    const index = at + 1;
    if (!isRecord(entry)) return { problem: { kind: 'no_message', index } };
    const word = typeof entry['role'] === 'string' ? entry['role'] : '';
    const who = role(word);
    if (who === undefined) return { problem: { kind: 'no_role', index, role: word } };
    const read = textOf(entry['content'] ?? entry['text']);
    if ('type' in read) return { problem: { kind: 'not_text', index, type: read.type } };
    if (read.text.trim() === '') return { problem: { kind: 'no_text', index } };
    messages.push({ role: who, text: read.text });
  }
  return { messages };
}

function readLines(source: string): Imported {
  const messages: { role: Role; lines: string[] }[] = [];
  for (const [at, line] of source.split(/\r?\n/).entries()) {
    const found = PREFIX.exec(line);
    const who = SPOKEN[found?.[1]?.toLowerCase() ?? ''];
    if (found !== null && who !== undefined)
      messages.push({ role: who, lines: [line.slice(found[0].length)] });
    else if (messages.length > 0) messages.at(-1)?.lines.push(line);
    else if (line.trim() !== '') return { problem: { kind: 'no_prefix', line: at + 1 } };
  }
  const read = messages.map(({ role, lines }) => ({ role, text: lines.join('\n').trim() }));
  const empty = read.findIndex((message) => message.text === '');
  return empty < 0 ? { messages: read } : { problem: { kind: 'no_text', index: empty + 1 } };
}

/** Nothing pasted is no conversation, and no problem. */
export function readImported(source: string): Imported {
  const trimmed = source.trim();
  if (trimmed === '') return { messages: [] };
  return /^[[{]/.test(trimmed) ? readJson(trimmed) : readLines(source);
}
