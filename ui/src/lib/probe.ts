/** What a step of the probe adds to its own words. Pure. */
import type { ProbeStep } from '$lib/contract';

/** What wraps a cause without saying more than the step's words do. */
const WRAPPERS = [
  'no connection: ',
  'the connection broke before the answer: ',
  'client error (Connect): ',
  'client error (SendRequest): ',
  'error sending request: ',
  'tcp connect error: ',
  'dns error: ',
  'error resolving DNS: ',
  'failed to lookup address information: ',
];

/** The cause itself, without what wraps it. */
export function causeOf(detail: string): string {
  const wrapper = WRAPPERS.find((words) => detail.startsWith(words));
  return wrapper === undefined ? detail : causeOf(detail.slice(wrapper.length));
}

/** The part of a step's detail that its words do not say already; `null` where nothing is left. */
export function stepDetail(step: ProbeStep): string | null {
  if (step.detail === null) return null;
  // Which status it was is said by the step that failed with it.
  if (step.outcome !== 'failed') return step.layer === 'answer' ? null : step.detail;
  let rest = causeOf(step.detail);
  if (step.status !== null && (step.layer === 'auth' || step.status === 404))
    rest = rest.replace(new RegExp(`^HTTP ${step.status}(?: · | for )?`), '');
  return rest === '' ? null : rest;
}
