/** What the rehearsal's world does where sessions are set up and answers leave together. Pure: it says what changes. */
import type { Decision, QueuedMessage, Request, SessionSetup, SetSessionSetup } from '$lib/contract';

/** What becomes of the requests by one decision: gathered while others of its group are open, else all leave. */
export function decided(requests: readonly Request[], request: Request, decision: Decision): Request[] {
  const choice = request.choices.find((other) => other.id === decision.choice)?.kind ?? 'deny';
  const at = Date.now();
  const mine: Request = { ...request, state: { kind: 'gathered', choice, at } };
  if (request.group === undefined) return [{ ...mine, state: { kind: 'accepted', choice, at } }];
  const others = requests.filter((other) => other.group === request.group && other.id !== request.id);
  if (others.some((other) => other.state.kind === 'open')) return [mine];
  return [...others, mine].flatMap((other) =>
    other.state.kind === 'gathered'
      ? [{ ...other, state: { kind: 'accepted', choice: other.state.choice, at } } as Request]
      : [],
  );
}

/** Every open or gathered request of a group, declined. */
export const declined = (requests: readonly Request[]): Request[] =>
  requests.flatMap((request) =>
    request.group !== undefined && ['open', 'gathered'].includes(request.state.kind)
      ? [{ ...request, state: { kind: 'accepted', choice: 'deny', at: Date.now() } } as Request]
      : [],
  );

/** A setup as the server would tell it: a secret is there or not, and never told. */
export function told({ setup, secrets }: Pick<SetSessionSetup, 'setup' | 'secrets'>): SessionSetup {
  const given = secrets ?? [];
  return {
    ...setup,
    options: [
      ...setup.options.filter((option) => !given.some((secret) => secret.name === option.name)),
      ...given.map(({ name }) => ({ name, value: null })),
    ],
  };
}

export const without = (queued: readonly QueuedMessage[], id: string): QueuedMessage[] =>
  queued.filter((message) => message.id !== id);
