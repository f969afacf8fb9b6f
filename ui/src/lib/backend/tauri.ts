/** The backend of the shipped page: commands and one channel of the shell. */
import { Channel, invoke } from '@tauri-apps/api/core';
import { listen } from '@tauri-apps/api/event';
import type { Batch } from '$lib/contract';
import { asAppError, type Backend, type CloseAsked } from './backend';

export function createBackend(): Backend {
  return {
    async call(name, args) {
      try {
        return await invoke(name, { args });
      } catch (error) {
        throw asAppError(error);
      }
    },
    async subscribe(onBatch) {
      const channel = new Channel<Batch>();
      channel.onmessage = onBatch;
      await invoke('subscribe', { channel });
    },
    async onCloseAsked(ask) {
      await listen<CloseAsked>('close-asked', (event) => ask(event.payload));
    },
  };
}
