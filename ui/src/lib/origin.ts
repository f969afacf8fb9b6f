/** Another origin that a server sends us to, as the error about it says. Pure. */
import type { AppError, ServerOptions } from '$lib/contract';

/** The origin to ask about; `null` where the error is another one, or names none. */
export function otherOrigin(error: AppError): string | null {
  if (error.code !== 'other_origin') return null;
  const found = /https?:\/\/[^\s/?#"'`<>]+/i.exec(error.detail ?? '')?.[0];
  if (found === undefined) return null;
  try {
    return new URL(found).origin;
  } catch {
    return null;
  }
}

/** The options with one more origin that the person agreed to. */
export const trusting = (options: ServerOptions, origin: string): ServerOptions => ({
  ...options,
  trusted_origins: [...new Set([...(options.trusted_origins ?? []), origin])],
});
