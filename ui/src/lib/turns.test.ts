/** What is pure about turns whose answers leave together, own tools' cards, and another origin. */
import { describe, expect, it } from 'vitest';
import { lastSaid } from './again';
import { agentSaid, item, sampleRequest, userSaid } from './backend/fake/samples';
import { groupOf, openInGroups, refusable } from './card/group';
import { firstToShow, isUnsettled, lingerMs } from './card/dock';
import { linkParts, saysMore } from './card/own-tool';
import { readLink } from './composer/images';
import type { AppError, Request } from './contract';
import { decisionWords } from './i18n/words';
import { otherOrigin, trusting } from './origin';
import { emptyFields, fieldsOf, readOptions } from './server-form';
import { sampleServer } from './backend/fake/samples';

const member = (id: string, state: Request['state']): Request => sampleRequest({ id, group: 'g', state });
const gathered = member('a', { kind: 'gathered', choice: 'deny', at: 1 });
const open = member('b', { kind: 'open' });

describe('answers that leave together', () => {
  it('count what is decided of their own group', () => {
    const alone = sampleRequest({ id: 'c' });
    expect(groupOf([gathered, open, alone], open)).toEqual({ members: [gathered, open], decided: 1 });
    expect(groupOf([gathered, open, alone], alone)).toBeNull();
    expect(groupOf([open], open)).toBeNull();
  });

  it('leave a gathered one readable, and go on to one that waits', () => {
    expect(isUnsettled(gathered)).toBe(false);
    expect(firstToShow([gathered, open])).toBe(open);
    expect(lingerMs(gathered, false)).toBeLessThan(lingerMs(member('x', { kind: 'expired' }), false));
  });

  it('can be refused for the rest, save what has no refusal', () => {
    const tool: Request = { ...open, id: 'c', choices: [] };
    const group = groupOf([gathered, open, tool], open);
    expect(
      group === null ? [] : refusable(group).map(({ request, choice }) => [request.id, choice.id]),
    ).toEqual([['b', 'deny']]);
  });

  it('are not said to be on their way before they are', () => {
    const row = {
      number: 1,
      session: 1,
      request: 'a',
      at: 1,
      by: 'you',
      choice: 'deny',
      tool: 'deploy',
      subject: 'x',
      reason: null,
      digest: 'd',
      fate: { kind: 'sending' },
      waited_ms: 1,
    } as const;
    expect(decisionWords(row, true)).toBe('denied · waits for the others');
    expect(decisionWords(row)).toBe('denied · sending');
  });

  it('are all declined to make way, the decided ones too', () => {
    const accepted = member('d', { kind: 'accepted', choice: 'answer', at: 1 });
    expect(openInGroups([gathered, open, accepted, sampleRequest({ id: 'c' })])).toEqual([gathered, open]);
  });
});

describe('a card of this app’s own tools', () => {
  const call = { tool: 'notify_user', title: 'Up', body: 'It runs.' } as const;

  it('shows the arguments only where they say more', () => {
    expect(saysMore('{"title": "Up", "body": "It runs."}', call)).toBe(false);
    expect(saysMore('{"title": "Up", "body": "It runs.", "sound": "loud"}', call)).toBe(true);
    expect(saysMore('{"title": "Up", "body": "It ru', call)).toBe(true);
    expect(saysMore('["Up"]', call)).toBe(true);
    expect(saysMore('{}', { tool: 'read_clipboard' })).toBe(false);
  });

  it('knows which addresses are opened', () => {
    expect(linkParts('https://a.example/x')).toEqual({ host: 'a.example', opens: true });
    expect(linkParts('file:///etc/passwd').opens).toBe(false);
    expect(linkParts('no address').opens).toBe(false);
  });
});

describe('another origin', () => {
  const error = (change: Partial<AppError>): AppError => ({
    code: 'other_origin',
    message: 'x',
    retryable: false,
    detail: null,
    ...change,
  });

  it('is read from the error alone that is about one', () => {
    expect(otherOrigin(error({ detail: 'https://b.example:8443/sessions/1' }))).toBe(
      'https://b.example:8443',
    );
    expect(otherOrigin(error({ detail: null }))).toBeNull();
    expect(otherOrigin(error({ code: 'forbidden', detail: 'https://b.example' }))).toBeNull();
  });

  it('is kept once with the server, and can be taken back there', () => {
    const { options } = sampleServer();
    const agreed = trusting(trusting(options, 'https://b.example'), 'https://b.example');
    expect(agreed.trusted_origins).toEqual(['https://b.example']);
    const fields = fieldsOf(sampleServer({ options: { ...agreed, stream_mode: 'none' } }));
    expect(readOptions(fields)).toEqual({ options: { ...agreed, stream_mode: 'none' } });
    for (const row of fields.origins) row.kept = false;
    fields.streamMode = '';
    expect(readOptions(fields)).toEqual({ options });
    expect(emptyFields().origins).toEqual([]);
  });
});

describe('what can be sent again', () => {
  const cells = (...items: ReturnType<typeof item>[]) => items.map((one) => ({ item: one }));

  it('is the last text of the person, as it was', () => {
    expect(lastSaid(cells(userSaid('a', 'one'), userSaid('b', 'two'), agentSaid('c', 'no')))).toBe('two');
    expect(lastSaid(cells(agentSaid('c', 'no')))).toBeNull();
  });

  it('is nothing where the message was more than its text', () => {
    const image = item('i', {
      kind: 'message',
      role: 'user',
      parts: [{ kind: 'remote', what: 'image', address: 'https://a.example/x.png' }],
      state: { kind: 'done' },
    });
    expect(lastSaid(cells(userSaid('a', 'one'), image))).toBeNull();
  });
});

describe('an image by its address', () => {
  it('is taken by https alone, without anything that cannot be seen', () => {
    expect(readLink(' https://a.example/x.png ')).toMatchObject({
      media_type: 'text/uri-list',
      data: 'https://a.example/x.png',
    });
    for (const bad of [
      'http://a.example/x',
      'https://',
      'javascript:x',
      'https://a.example/\u202Ex',
      'https://a b',
    ])
      expect(readLink(bad)).toBeNull();
  });
});
