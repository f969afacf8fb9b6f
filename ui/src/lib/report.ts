/** Faults of the page itself go to the shell's log: a window has no console that anybody reads. */
import type { Backend } from '$lib/backend/backend';
import { isAppError } from '$lib/backend/backend';

/** A fault that repeats must not flood the log. */
const MOST = 50;
/** Messages are cut: a fault can quote whatever was on the page. */
const LONGEST = 2000;

export function reportErrors(backend: Backend, target: Window): void {
  let sent = 0;
  const report = (message: string, stack: string | null) => {
    // Layout observers report a skipped round this way; nothing failed.
    if (message.startsWith('ResizeObserver loop') || sent >= MOST) return;
    sent += 1;
    backend
      .call('report_page_error', {
        message: message.slice(0, LONGEST),
        stack: stack?.slice(0, LONGEST) ?? null,
      })
      .catch(() => undefined);
  };
  target.addEventListener('error', (event) => {
    const stack = event.error instanceof Error ? (event.error.stack ?? null) : null;
    report(event.message, stack ?? `${event.filename}:${event.lineno}:${event.colno}`);
  });
  target.addEventListener('unhandledrejection', (event) => {
    const reason: unknown = event.reason;
    if (reason instanceof Error) report(reason.message, reason.stack ?? null);
    else report(isAppError(reason) ? `${reason.code}: ${reason.message}` : String(reason), null);
  });
}
