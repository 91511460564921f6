/** A server of chat completions on the loopback: real HTTP, with the faults that real ones have. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
}

/** Answers one request; what it never ends stays open. */
export type Turn = (response: ServerResponse, request: Received) => void;

export class ChatServer {
  readonly received: Received[] = [];
  /** How many requests the client gave up. */
  givenUp = 0;
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #turns: Turn[] = [];

  /** The address, with the version in its path. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** What is answered from now on; the last turn is repeated. */
  script(...turns: Turn[]): void {
    this.received.length = 0;
    this.givenUp = 0;
    this.#turns = turns;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>;
    const received = { url: request.url!, headers: request.headers, body };
    response.on('close', () => (this.givenUp += response.writableEnded ? 0 : 1));
    const turn = this.#turns[Math.min(this.received.length, this.#turns.length - 1)]!;
    this.received.push(received);
    turn(response, received);
  }
}

/** Chunks, as LM Studio sends them: with an empty list of calls in each. */
export function stream(...deltas: Record<string, unknown>[]): Turn {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const delta of deltas) response.write(chunk({ tool_calls: [], ...delta }));
    response.write(chunk({}, 'tool_calls' in deltas.at(-1)! ? 'tool_calls' : 'stop'));
    response.end('data: [DONE]\n\n');
  };
}

export function chunk(delta: Record<string, unknown>, finish: string | null = null): string {
  return `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ delta, finish_reason: finish }] })}\n\n`;
}

/** One document, although a stream was asked for. */
export function document(message: Record<string, unknown>): Turn {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', ...message }, finish_reason: 'stop' }] }));
  };
}

export function refuse(status: number, headers: Record<string, string> = {}): Turn {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ error: { message: 'no', code: status } }));
  };
}

/** Answers as OpenAI's newer models do: they refuse the usual name of the limit. */
export function renaming(turn: Turn): Turn {
  return (response, request) => {
    if (!('max_tokens' in request.body)) {
      turn(response, request);
      return;
    }
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message, param: 'max_tokens', code: 'unsupported_parameter' } }));
  };
}

/** Takes the request and says nothing. */
export const silent: Turn = () => undefined;

/** Breaks the connection before or after the first words. */
export function cut(...first: string[]): Turn {
  return (response) => {
    if (first.length === 0) {
      response.destroy();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(first.join(''), () => response.destroy());
  };
}

/** A call of the search tool in pieces; the id is empty where none is given. */
export function searching(query: string, id = ''): Turn {
  const args = JSON.stringify({ query });
  return stream(
    { tool_calls: [{ index: 0, id, type: 'function', function: { name: 'web_search', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: args.slice(0, 5) } }] },
    { tool_calls: [{ index: 0, function: { arguments: args.slice(5) } }] },
  );
}
