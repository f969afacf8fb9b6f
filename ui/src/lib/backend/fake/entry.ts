/**
 * The rehearsal backend: the page over a story, chosen by `?story=`. Built only in the mode `browser-test`, into a
 * folder of its own. Tests reach the world through `window.rehearsal`.
 */
import type { Language, Theme } from '$lib/contract';
import type { Backend } from '../backend';
import { stories } from './stories';
import type { World } from './world';

declare global {
  interface Window {
    rehearsal?: World;
  }
}

export function createBackend(): Backend {
  const query = new URLSearchParams(location.search);
  const make = stories[query.get('story') ?? 'first-run'];
  if (make === undefined) throw new Error(`no such story; there are ${Object.keys(stories).join(', ')}`);
  const world = make();
  world.facts.preferences.theme = (query.get('theme') as Theme | null) ?? 'light';
  world.facts.preferences.language = (query.get('lang') as Language | null) ?? 'en';
  window.rehearsal = world;
  return world;
}
