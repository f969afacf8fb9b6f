import { describe, expect, it } from 'vitest';
import { draftOf, emptyFields, readOptions } from './server-form';

describe('readOptions', () => {
  it('reads what was typed', () => {
    const fields = {
      ...emptyFields(),
      url: ' https://a.example ',
      headers: 'x-a: 1\n\n x-b :two words ',
      flushMs: '100',
      capMib: '2',
      diskMib: '100',
    };
    expect(readOptions(fields)).toEqual({
      options: {
        dialect: null,
        seed_compat: false,
        delta_flush_interval_ms: 100,
        auth: null,
        headers: [
          { name: 'x-a', value: '1' },
          { name: 'x-b', value: 'two words' },
        ],
        insecure_accepted: false,
        event_cap_bytes: 2097152,
        disk_cap_bytes: 104857600,
      },
    });
  });

  it.each([
    [{ url: '' }, { field: 'url' }],
    [{ flushMs: 'fast' }, { field: 'flush' }],
    [{ capMib: '-1' }, { field: 'cap' }],
    [{ diskMib: '0' }, { field: 'disk' }],
    [{ headers: 'x-a: 1\nnonsense' }, { field: 'headers', line: 2 }],
  ])('names the field that cannot be used: %j', (change, error) => {
    expect(readOptions({ ...emptyFields(), url: 'https://a.example', ...change })).toEqual({ error });
  });

  it('p25 trims a pasted token', () => {
    const read = readOptions({ ...emptyFields(), url: 'x' });
    if (!('options' in read)) throw new Error('the fields can be used');
    expect(draftOf({ ...emptyFields(), url: ' x ', token: ' secret\n' }, read.options, false)).toMatchObject({
      base_url: 'x',
      token: 'secret',
    });
  });
});
