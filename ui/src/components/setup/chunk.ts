/** The setup of an open session is asked for seldom: it comes in a chunk of its own. */
import { Later } from '$lib/later.svelte';

export const setupDialog = new Later(() => import('./SetupDialog.svelte'));
