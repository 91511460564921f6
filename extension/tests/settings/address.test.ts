import { describe, expect, it } from 'vitest';

import { DEFAULT_SERVER, readAddress, serverAddress } from '../../src/settings/address';

describe('a server’s address', () => {
  it.each([
    ['https://errata.example', 'https://errata.example', 'https://errata.example/*'],
    ['  https://errata.example/  ', 'https://errata.example', 'https://errata.example/*'],
    ['https://errata.example:8443/some/path//', 'https://errata.example:8443/some/path', 'https://errata.example/*'],
    ['HTTP://LOCALHOST:8787', 'http://localhost:8787', 'http://localhost/*'],
    ['http://errata.localhost', 'http://errata.localhost', 'http://errata.localhost/*'],
    ['http://host.docker.internal:1', 'http://host.docker.internal:1', 'http://host.docker.internal/*'],
    ['http://127.9.9.9', 'http://127.9.9.9', 'http://127.9.9.9/*'],
    ['http://10.1.2.3', 'http://10.1.2.3', 'http://10.1.2.3/*'],
    ['http://172.16.0.1', 'http://172.16.0.1', 'http://172.16.0.1/*'],
    ['http://172.31.255.255', 'http://172.31.255.255', 'http://172.31.255.255/*'],
    ['http://192.168.7.8:80', 'http://192.168.7.8', 'http://192.168.7.8/*'],
    ['http://169.254.0.9', 'http://169.254.0.9', 'http://169.254.0.9/*'],
    ['http://0.0.0.0:5', 'http://0.0.0.0:5', 'http://0.0.0.0/*'],
    ['http://0x7f.1', 'http://127.0.0.1', 'http://127.0.0.1/*'],
    ['http://[::1]:9', 'http://[::1]:9', 'http://[::1]/*'],
    ['http://[::]', 'http://[::]', 'http://[::]/*'],
    ['http://[fd12::7]', 'http://[fd12::7]', 'http://[fd12::7]/*'],
    ['http://[fe80::7]', 'http://[fe80::7]', 'http://[fe80::7]/*'],
    ['http://[febf::7]', 'http://[febf::7]', 'http://[febf::7]/*'],
  ])('may be %s', (entered, baseUrl, pattern) => {
    const read = readAddress(entered);
    expect(read).toMatchObject({ ok: true, address: { baseUrl, pattern } });
  });

  it.each([
    ['errata.example', 'no_url'],
    ['https://', 'no_url'],
    ['localhost:8787', 'scheme'],
    ['ftp://errata.example', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['http://errata.example', 'public_http'],
    ['http://localhost.example', 'public_http'],
    ['http://notlocalhost', 'public_http'],
    ['http://172.15.0.1', 'public_http'],
    ['http://172.32.0.1', 'public_http'],
    ['http://192.169.0.1', 'public_http'],
    ['http://11.0.0.1', 'public_http'],
    ['http://0.0.0.1', 'public_http'],
    ['http://10.example.com', 'public_http'],
    ['http://[2001:db8::1]', 'public_http'],
    ['http://[fec0::1]', 'public_http'],
    ['http://[fd::1]', 'public_http'],
    ['http://[::ffff:8.8.8.8]', 'public_http'],
    ['https://me:pass@errata.example', 'extras'],
    ['https://errata.example/?a=b', 'extras'],
    ['https://errata.example/#a', 'extras'],
    ['https://errata.example?', 'extras'],
  ])('may not be %s: %s', (entered, problem) => {
    expect(readAddress(entered)).toEqual({ ok: false, problem });
    expect(serverAddress(entered).baseUrl).toBe(DEFAULT_SERVER);
  });

  it('is the default where none is entered', () => {
    expect(readAddress('  ')).toMatchObject({ ok: true, address: { baseUrl: DEFAULT_SERVER } });
  });
});
