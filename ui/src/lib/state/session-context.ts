/** The open session, for the parts of the transcript that read big payloads by handle. */
import { getContext, setContext } from 'svelte';
import type { SessionView } from './session.svelte';

const KEY = Symbol('session');

export function provideSession(view: SessionView): void {
  setContext(KEY, view);
}

export function useSession(): SessionView {
  return getContext<SessionView>(KEY);
}
