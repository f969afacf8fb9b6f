import { describe, expect, it } from 'vitest';
import { turnOffer } from './backend/fake/stories/turns';
import type { AgentOffer, SessionSetup } from './contract';
import { namesTwice, readSetup, setupFields, toolsOf, trustedTools } from './setup';

const before: SessionSetup = {
  tools: [
    { name: 'read_file', trusted: true },
    { name: 'gone', trusted: true },
  ],
  options: [
    { name: 'language', value: '中文' },
    { name: 'search_key', value: null },
    { name: 'later', value: 'x' },
  ],
  own_tools: ['ask_user', 'own_later'],
};

describe('the setup of a session', () => {
  it('begins with everything off and every option as the agent has it', () => {
    const fields = setupFields(turnOffer, null);
    expect(fields.tools.some((tool) => tool.on || tool.trusted)).toBe(false);
    expect(fields.own.some((tool) => tool.on)).toBe(false);
    expect(fields.options.map(({ value }) => value)).toEqual(['English', 'plain', '']);
  });

  it('keeps what is set and has no field here', () => {
    const { setup, secrets } = readSetup(setupFields(turnOffer, before), before);
    expect(setup.tools).toEqual(before.tools);
    expect(setup.own_tools).toEqual(before.own_tools);
    expect(setup.options).toEqual([
      { name: 'language', value: '中文' },
      { name: 'tone', value: 'plain' },
      { name: 'later', value: 'x' },
    ]);
    expect(secrets).toEqual([]);
  });

  it('says a secret apart from the setup, and only where one was given', () => {
    const fields = setupFields(turnOffer, before);
    for (const field of fields.options) if (field.kind === 'secret') field.value = ' sk-1 ';
    const { setup, secrets } = readSetup(fields, before);
    expect(secrets).toEqual([{ name: 'search_key', value: 'sk-1' }]);
    expect(JSON.stringify(setup)).not.toContain('sk-1');
  });

  it('finds a name that the agent would know twice, among what is on alone', () => {
    const tool = { name: 'open_link', title: null, description: null };
    const offer: AgentOffer = { ...turnOffer, tools: [tool, tool] };
    expect(toolsOf(offer)).toHaveLength(1);
    const fields = setupFields(offer, null);
    for (const own of fields.own) own.on = own.name === 'open_link';
    expect(namesTwice(fields)).toEqual([]);
    for (const one of fields.tools) one.on = true;
    expect(namesTwice(fields)).toEqual(['open_link']);
  });

  it('gives an agent without tools of this app none', () => {
    expect(setupFields({ ...turnOffer, own_tools: false }, null).own).toEqual([]);
  });

  it('names the tools that run unasked', () => {
    expect(trustedTools(before)).toEqual(['read_file', 'gone']);
    expect(trustedTools(undefined)).toEqual([]);
  });
});
