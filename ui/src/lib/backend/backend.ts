/**
 * The page's only way out. Everything else of the page sees this interface, never the shell itself, so that the
 * same page runs over the shell, over an in-memory backend, and in unit tests.
 */
import type { AppError, Batch, Commands, ErrorCode } from '$lib/contract';

export type CommandName = keyof Commands;

/** What the shell asks when the window is about to close. */
export interface CloseAsked {
  /** Sessions that are live. */
  live: number;
  /** Their servers keep them running, and they can be taken up again without harm. */
  harmless: boolean;
}

export interface Backend {
  /** Calls a command. Rejects with an {@link AppError}, never with anything else. */
  call<K extends CommandName>(name: K, args: Commands[K]['args']): Promise<Commands[K]['result']>;
  /** Opens the one channel over which batches arrive, in order. Called once, before the first `overview`. */
  subscribe(onBatch: (batch: Batch) => void): Promise<void>;
  /** Hears that the person wants to close the window while sessions are live. */
  onCloseAsked(ask: (asked: CloseAsked) => void): Promise<void>;
}

/** Whether a thrown value has the shape in which errors cross the edge. */
export function isAppError(value: unknown): value is AppError {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as AppError).code === 'string' &&
    typeof (value as AppError).message === 'string'
  );
}

/** Any thrown value as an error the page can act on. */
export function asAppError(value: unknown): AppError {
  if (isAppError(value)) return value;
  const detail = value instanceof Error ? value.message : String(value);
  const code: ErrorCode = 'internal';
  return { code, message: 'Something in this app failed.', retryable: false, detail };
}
