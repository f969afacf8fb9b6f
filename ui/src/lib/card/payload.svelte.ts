/**
 * The whole text of a payload. Where only its beginning came with the request, the rest is read by handle until
 * it is complete: nobody can allow what has not been shown to its end.
 */
import { asAppError, type Backend } from '$lib/backend/backend';
import type { AppError, SessionId, Text } from '$lib/contract';

/** The most that one reading gives. */
const CHUNK_CHARS = 262_144;

const length = (text: string) => [...text].length;

export class Payload {
  text = $state.raw('');
  complete = $state.raw(false);
  error = $state.raw<AppError | null>(null);
  readonly chars: number;
  private stopped = false;

  constructor(
    private readonly backend: Backend,
    private readonly session: SessionId,
    private readonly source: Text,
  ) {
    this.text = source.text;
    this.chars = source.chars;
    this.complete = source.handle === null;
  }

  /** Reads what is missing. Safe to call again after an error. */
  async read(): Promise<void> {
    const handle = this.source.handle;
    if (handle === null || this.complete) return;
    this.error = null;
    try {
      let have = length(this.text);
      while (!this.stopped && have < this.chars) {
        const chunk = await this.backend.call('read_payload', {
          session: this.session,
          handle,
          from: have,
          limit: CHUNK_CHARS,
        });
        if (chunk.from !== have || chunk.chars !== this.chars || chunk.text === '') {
          throw {
            code: 'request_changed',
            message: 'The payload changed while it was read.',
            retryable: false,
            detail: null,
          };
        }
        this.text += chunk.text;
        have += length(chunk.text);
      }
      this.complete = !this.stopped;
    } catch (error) {
      this.error = asAppError(error);
    }
  }

  stop(): void {
    this.stopped = true;
  }
}
