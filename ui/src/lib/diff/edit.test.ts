import { describe, expect, it } from 'vitest';
import { editOf } from './edit';

describe('editOf', () => {
  it('shows what an edit tool replaces', () => {
    const input = JSON.stringify({ path: 'src/users.py', old_string: 'a\nb\nc', new_string: 'a\nB\nB2\nc' });
    expect(editOf(input)).toEqual({
      path: 'src/users.py',
      added: 2,
      removed: 1,
      lines: [
        { kind: 'same', number: 1, text: 'a' },
        { kind: 'del', number: 2, text: 'b' },
        { kind: 'add', number: 2, text: 'B' },
        { kind: 'add', number: 3, text: 'B2' },
        { kind: 'same', number: 4, text: 'c' },
      ],
    });
  });

  it('keeps three lines around a change', () => {
    const lines = Array.from({ length: 40 }, (_value, index) => `line ${index}`);
    const edit = editOf(
      JSON.stringify({ old_str: lines.join('\n'), new_str: lines.with(20, 'changed').join('\n') }),
    );
    expect(edit?.lines).toHaveLength(8);
  });

  it.each(['', 'not json', '[]', '{"old_string":"a"}', '{"old_string":1,"new_string":"b"}', 'null'])(
    'gives nothing for %j',
    (input) => expect(editOf(input)).toBeNull(),
  );
});
