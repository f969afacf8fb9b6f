/**
 * How a session is set up, as fields of a form: the server's tools and which of them are trusted, the agent's options,
 * the tools of this app. Pure. Only what the agent offers has a field.
 */
import type { AgentOffer, AgentOption, OfferedTool, SecretSetting, SessionSetup } from '$lib/contract';

/** The tools of this app, in the order in which they are shown. */
export const OWN_TOOLS = [
  'ask_user',
  'notify_user',
  'open_link',
  'read_clipboard',
  'write_clipboard',
] as const;
export type OwnTool = (typeof OWN_TOOLS)[number];

export interface ToolField {
  readonly name: string;
  on: boolean;
  trusted: boolean;
}

export interface OptionField {
  readonly name: string;
  readonly kind: AgentOption['kind']['kind'];
  /** As typed. A secret's field is empty where nothing new is given. */
  value: string;
}

export interface SetupFields {
  tools: ToolField[];
  options: OptionField[];
  own: { readonly name: OwnTool; on: boolean }[];
}

/** Each name once: a server that lists a tool twice has one tool. */
export function toolsOf(offer: AgentOffer): OfferedTool[] {
  const seen = new Set<string>();
  return offer.tools.filter(({ name }) => !seen.has(name) && seen.add(name));
}

/**
 * The fields for a setup; for a new session, where there is none, everything of the server's is off, every option is
 * as the agent has it, and the app's tools are off.
 */
export function setupFields(offer: AgentOffer, setup: SessionSetup | null): SetupFields {
  return {
    tools: toolsOf(offer).map(({ name }) => {
      const set = setup?.tools.find((tool) => tool.name === name);
      return { name, on: set !== undefined, trusted: set?.trusted ?? false };
    }),
    options: offer.options.map((option) => {
      const set = setup?.options.find((other) => other.name === option.name)?.value ?? null;
      const secret = option.kind.kind === 'secret';
      return { name: option.name, kind: option.kind.kind, value: secret ? '' : (set ?? option.default) };
    }),
    own: offer.own_tools
      ? OWN_TOOLS.map((name) => ({ name, on: setup?.own_tools.includes(name) ?? false }))
      : [],
  };
}

/**
 * Names that the agent would know twice: every tool it has is called by its name alone. Only what is on counts, of the
 * server as of this app.
 */
export function namesTwice(fields: SetupFields): string[] {
  const server = new Set(fields.tools.filter((tool) => tool.on).map((tool) => tool.name));
  return fields.own.filter((tool) => tool.on && server.has(tool.name)).map((tool) => tool.name);
}

/**
 * The setup and the secrets the fields say. What is set and has no field here is kept as it is: a tool that the server
 * no longer names, an option of a kind that is not known.
 */
export function readSetup(
  fields: SetupFields,
  before: SessionSetup | null,
): { readonly setup: SessionSetup; readonly secrets: SecretSetting[] } {
  const known = new Set(fields.tools.map((tool) => tool.name));
  const named = new Set(fields.options.map((option) => option.name));
  const drawn = new Set<string>(fields.own.map((tool) => tool.name));
  return {
    setup: {
      tools: [
        ...fields.tools.filter((tool) => tool.on).map(({ name, trusted }) => ({ name, trusted })),
        ...(before?.tools ?? []).filter((tool) => !known.has(tool.name)),
      ],
      options: [
        ...fields.options.flatMap(({ name, kind, value }) => (kind === 'secret' ? [] : [{ name, value }])),
        ...(before?.options ?? []).filter((option) => !named.has(option.name)),
      ],
      own_tools: [
        ...fields.own.filter((tool) => tool.on).map((tool) => tool.name),
        ...(before?.own_tools ?? []).filter((name) => !drawn.has(name)),
      ],
    },
    secrets: fields.options.flatMap(({ name, kind, value }) =>
      kind === 'secret' && value.trim() !== '' ? [{ name, value: value.trim() }] : [],
    ),
  };
}

/** There is something to choose. */
export const offersSetup = (offer: AgentOffer): boolean =>
  offer.tools.length > 0 || offer.options.length > 0 || offer.own_tools;

/** Names of the server's tools whose calls run unasked. */
export const trustedTools = (setup: SessionSetup | null | undefined): string[] =>
  (setup?.tools ?? []).filter((tool) => tool.trusted).map((tool) => tool.name);
