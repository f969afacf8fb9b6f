import { describe, expect, it } from 'vitest';
import { fieldsOf, readOptions, rowProblem, runsUnasked } from './run-options';
import type { RunOptions } from './contract';

const options: RunOptions = {
  approvals: { mode: 'commands', commands: ['git status', 'ls'] },
  questions: 'ask',
  answer_timeout_s: 300,
  run_timeout_s: null,
  mentions: true,
};

describe('run options', () => {
  it('come back from their fields as they were', () => {
    expect(readOptions(fieldsOf(options))).toEqual({ options });
    const limited = { ...options, approvals: { mode: 'ask' } as const, run_timeout_s: 60 };
    expect(readOptions(fieldsOf(limited))).toEqual({ options: limited });
  });

  it.each([';', '&', '|', '<', '>', '$', '`', '(', ')', '*', '?', '\\', '"', "'", '~', '#', '!', '{', '['])(
    'refuse a command with %s: no server would ever match it',
    (found) => expect(rowProblem(`echo ${found} x`)).toEqual({ kind: 'shell', found }),
  );

  it('refuse rows that are empty or hide a control character, and a list without rows', () => {
    expect([rowProblem('  '), rowProblem('a\u0007b'), rowProblem(' git log -1 ')]).toEqual([
      { kind: 'empty' },
      { kind: 'control' },
      null,
    ]);
    const read = readOptions({ ...fieldsOf(options), commands: [] });
    expect('problems' in read && read.problems.list).toBe('none');
  });

  it('look at rows only where the list counts', () => {
    const fields = { ...fieldsOf(options), mode: 'ask' as const, commands: [{ key: 0, text: 'a; b' }] };
    expect(readOptions(fields)).toEqual({ options: { ...options, approvals: { mode: 'ask' } } });
  });

  it.each(['0', '3601', '1.5', '', 'x', '-1'])('refuse %j seconds for an answer', (answerTimeout) => {
    const read = readOptions({ ...fieldsOf(options), answerTimeout });
    expect('problems' in read && read.problems.answer).toBe(true);
  });

  it('take no limit for a run, and refuse one of zero', () => {
    const read = readOptions({ ...fieldsOf(options), runTimeout: '0' });
    expect('problems' in read && read.problems.run).toBe(true);
  });

  it('p50 know which modes run commands unasked', () => {
    const modes = [{ mode: 'ask' }, { mode: 'deny' }, { mode: 'auto' }, { mode: 'commands', commands: [] }];
    expect(modes.map((mode) => runsUnasked(mode as RunOptions['approvals']))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});
