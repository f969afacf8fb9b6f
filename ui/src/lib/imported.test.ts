import { describe, expect, it } from 'vitest';
import { readImported } from './imported';

const problem = (source: string) => {
  const read = readImported(source);
  return 'problem' in read ? read.problem : null;
};

describe('a pasted conversation', () => {
  it('of nothing is none', () => expect(readImported(' \n ')).toEqual({ messages: [] }));

  it('is read from JSON, with texts in blocks, and inside an object too', () => {
    const list = [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      },
    ];
    const messages = [
      { role: 'system', text: 'Be brief.' },
      { role: 'agent', text: 'one\ntwo' },
    ];
    expect(readImported(JSON.stringify(list))).toEqual({ messages });
    expect(readImported(JSON.stringify({ messages: list }))).toEqual({ messages });
  });

  it('is read from lines that say who speaks, in either script', () => {
    expect(readImported('User: hi\n  there\n\nAgent: hello: you\n用户：再见')).toEqual({
      messages: [
        { role: 'user', text: 'hi\n  there' },
        { role: 'agent', text: 'hello: you' },
        { role: 'user', text: '再见' },
      ],
    });
  });

  it.each([
    ['[{"role": "user"', { kind: 'no_json' }],
    ['{"role": "user"}', { kind: 'no_list' }],
    ['["hi"]', { kind: 'no_message', index: 1 }],
    ['[{"role": "tool", "content": "x"}]', { kind: 'no_role', index: 1, role: 'tool' }],
    ['[{"role": "constructor", "content": "x"}]', { kind: 'no_role', index: 1, role: 'constructor' }],
    ['[{"role": "user", "content": "a"}, {"role": "user"}]', { kind: 'no_text', index: 2 }],
    [
      '[{"role": "user", "content": [{"type": "image", "url": "x"}]}]',
      { kind: 'not_text', index: 1, type: 'image' },
    ],
    ['\nHello\nUser: hi', { kind: 'no_prefix', line: 2 }],
    ['User: hi\nAgent:', { kind: 'no_text', index: 2 }],
  ])('%j is refused with its reason', (source, reason) => expect(problem(source)).toEqual(reason));
});
