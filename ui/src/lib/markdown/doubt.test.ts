import { describe, expect, it } from 'vitest';
import { linkDoubt } from './doubt';

describe('s07 linkDoubt', () => {
  it.each([
    ['https://example.com/a', 'the report'],
    ['https://example.com/a', 'example.com'],
    ['https://www.example.com/a', 'https://example.com/b'],
    ['https://example.com:8443/', 'example.com:8443'],
    ['https://EXAMPLE.com/', 'Example.COM'],
    ['https://git.example/x/blob/main/README.md', 'README.md'],
    ['https://git.example/x/blob/main/src/users.test.ts', 'users.test.ts'],
    ['https://ci.example/runs/7', 'build.log and app.toml'],
    ['https://ci.example/runs/7', 'version 4.2.0, e.g. this one'],
    ['http://127.0.0.1:3290/x', 'local page'],
    ['http://[::1]:3000/', 'local page'],
    ['mailto:ops@example.com', 'ops@example.com'],
    ['mailto:ops@example.com?subject=bank.test', 'write to us'],
    ['https://example.com/中文', '东京天气'],
    ['no address', 'example.com'],
  ])('%s behind “%s” is what it looks like', (address, text) => {
    expect(linkDoubt(address, text)).toBeNull();
  });

  it.each([
    ['https://evil.example/', 'https://bank.test/login', 'bank.test'],
    ['https://evil.example/', 'go to bank.test now', 'bank.test'],
    ['https://evil.example/', 'www.bank.test', 'www.bank.test'],
    ['https://bank.test.evil.example/', 'bank.test', 'bank.test'],
    ['https://evil.example/https://bank.test/', 'https://bank.test/', 'bank.test'],
    ['https://evil.example/?q=1', 'docs.rs', 'docs.rs'],
    ['https://evil.example/bank.com', 'bank.com', 'bank.com'],
    ['mailto:ops@evil.example', 'ops@bank.test', 'bank.test'],
    ['https://evil.example/', '中文.test', '中文.test'],
  ])('%s behind “%s” names %s', (address, text, named) => {
    expect(linkDoubt(address, text)).toMatchObject({ named, written: null });
  });

  it.each([
    ['https://\u0435xample.com/login', 'https://xn--xample-2of.com/login', 'xn--xample-2of.com'],
    ['https://example\u3002com/', 'https://example.com/', 'example.com'],
    ['https://exam%70le.com/', 'https://example.com/', 'example.com'],
    ['http://0x7f.1/', 'http://127.0.0.1/', '127.0.0.1'],
  ])('%s is written otherwise than it is resolved', (address, opens, host) => {
    const doubt = linkDoubt(address, 'here');
    expect(doubt).toMatchObject({ address: opens, host, named: null });
    expect(doubt?.written).not.toBeNull();
  });

  it('Punycode is doubtful as it stands', () => {
    expect(linkDoubt('https://xn--fiqs8s.example/', 'here')).toEqual({
      address: 'https://xn--fiqs8s.example/',
      host: 'xn--fiqs8s.example',
      written: null,
      named: null,
    });
  });
});
