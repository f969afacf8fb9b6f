/** A probe that finds what the address's name says: each failing layer can be shown. */
import type { AppError, ErrorCode, ProbeLayer, ProbeReport, ProbeStep, ServerDraft } from '$lib/contract';

const failure = (code: ErrorCode, detail: string | null): AppError => ({
  code,
  message: `probe: ${code}`,
  retryable: false,
  detail,
});
const ok = (layer: ProbeLayer, detail: string | null = null): ProbeStep => ({
  layer,
  outcome: 'ok',
  detail,
  status: null,
});

export function probe(draft: ServerDraft): ProbeReport {
  const url = draft.base_url;
  const loopback = url.includes('127.0.0.1') || url.includes('localhost');
  if (url.startsWith('http://') && !loopback && !draft.options.insecure_accepted) {
    return { steps: [], found: null, error: failure('insecure_url', null) };
  }
  const fail = (
    steps: ProbeStep[],
    layer: ProbeLayer,
    code: ErrorCode,
    detail: string,
    status: number | null = null,
  ): ProbeReport => ({
    steps: [...steps, { layer, outcome: 'failed', detail, status }],
    found: null,
    error: failure(code, detail),
  });
  if (!/^https?:\/\//.test(url)) return fail([], 'url', 'invalid_input', 'no scheme');
  if (url.includes('nowhere')) return fail([ok('url')], 'dns', 'unreachable', 'nowhere.example');
  if (url.includes('closed')) return fail([ok('dns')], 'connect', 'unreachable', 'connection refused');
  if (url.includes('locked') && draft.token !== 'right') {
    return fail([ok('dns'), ok('connect'), ok('answer')], 'auth', 'unauthorized', 'invalid token', 401);
  }
  return {
    steps: [ok('dns'), ok('connect'), ok('answer'), ok('auth'), ok('protocol')],
    found: {
      protocol: 'managed',
      dialect: 'qoder',
      base_url: url,
      version: '1.4.0',
      unauthenticated: draft.token === '',
    },
    error: null,
  };
}
