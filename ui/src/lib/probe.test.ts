import { describe, expect, it } from 'vitest';
import type { ProbeStep } from '$lib/contract';
import { stepDetail } from './probe';

const step = (change: Partial<ProbeStep>): ProbeStep => ({
  layer: 'connect',
  outcome: 'failed',
  detail: null,
  status: null,
  ...change,
});

describe('stepDetail', () => {
  it('leaves out what the sentence before it has said', () => {
    const refused =
      'no connection: client error (Connect): tcp connect error: Connection refused (os error 111)';
    expect(stepDetail(step({ detail: refused }))).toBe('Connection refused (os error 111)');
    expect(stepDetail(step({ layer: 'auth', status: 401, detail: 'HTTP 401 · invalid token' }))).toBe(
      'invalid token',
    );
    const unknown =
      'no connection: client error (Connect): dns error: error resolving DNS: failed to lookup address information: Name or service not known';
    expect(stepDetail(step({ layer: 'dns', detail: unknown }))).toBe('Name or service not known');
    expect(stepDetail(step({ layer: 'auth', status: 401, detail: 'HTTP 401' }))).toBeNull();
    expect(stepDetail(step({ layer: 'protocol', status: 404, detail: 'HTTP 404 for /agents' }))).toBe(
      '/agents',
    );
    expect(stepDetail(step({ layer: 'answer', outcome: 'ok', detail: 'HTTP 401' }))).toBeNull();
  });

  it('keeps what says more', () => {
    expect(stepDetail(step({ layer: 'dns', outcome: 'ok', detail: 'example.com' }))).toBe('example.com');
    expect(stepDetail(step({ layer: 'protocol', status: 200, detail: 'HTTP 200 for /agents' }))).toBe(
      'HTTP 200 for /agents',
    );
    expect(
      stepDetail(step({ layer: 'tls', detail: 'no connection: invalid peer certificate: Expired' })),
    ).toBe('invalid peer certificate: Expired');
    expect(stepDetail(step({ detail: null }))).toBeNull();
  });
});
