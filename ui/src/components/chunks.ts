/**
 * What the first screen does without, in chunks of the app's own files. `inTime` fetches all of them once the first
 * screen stands, the likeliest first, so that nobody meets one that is still to come.
 */
import { Later } from '$lib/later.svelte';

export const screens = {
  session: new Later(() => import('./session/SessionScreen.svelte')),
  servers: new Later(() => import('./servers/ServersScreen.svelte')),
  history: new Later(() => import('./history/HistoryScreen.svelte')),
  settings: new Later(() => import('./settings/SettingsScreen.svelte')),
};

export const sheets = new Later(() => import('./Sheets.svelte'));
export const confirm = new Later(() => import('./ui/ConfirmDialog.svelte'));
export const advanced = new Later(() => import('./servers/AdvancedOptions.svelte'));

/** One after the other: each is small enough not to be felt by somebody who is typing already. */
export async function inTime(): Promise<void> {
  for (const chunk of [
    sheets,
    screens.session,
    confirm,
    advanced,
    screens.servers,
    screens.history,
    screens.settings,
  ]) {
    await chunk.load();
  }
}
