/** An API server that the contract is held against: the sandbox or a real one. */
import { Agent } from "undici";
import { parse } from "yaml";
import { type Fields, isFields, listAt, textAt, valueAt } from "../../sandbox/json.ts";

export interface Credentials {
  readonly url: string;
  /** PEM texts. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Answer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as an object; empty when it is none. */
  readonly json: Fields;
}

export interface CallOptions {
  readonly body?: unknown;
  /** Content type of the body; default JSON. */
  readonly type?: string;
  readonly accept?: string;
  /** Impersonates this user. */
  readonly as?: string;
  /** A group of that user. */
  readonly group?: string;
}

interface WatchedEvent {
  readonly type: string;
  readonly object: Fields;
}

export interface OpenStream {
  /** The next event; undefined when the stream ended. */
  next(): Promise<WatchedEvent | undefined>;
  close(): Promise<void>;
}

export interface Target {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  watch(path: string): Promise<OpenStream>;
  close(): Promise<void>;
}

/** Credentials of the current user of a kubeconfig with inline certificates. */
export function credentialsOf(kubeconfig: string): Credentials {
  const config: unknown = parse(kubeconfig);
  const cluster = valueAt(listAt(config, "clusters")[0], "cluster");
  const user = valueAt(listAt(config, "users")[0], "user");
  const text = (value: unknown, name: string): string =>
    Buffer.from(textAt(value, name), "base64").toString();
  return {
    url: textAt(cluster, "server"),
    ca: text(cluster, "certificate-authority-data"),
    cert: text(user, "client-certificate-data"),
    key: text(user, "client-key-data"),
  };
}

export function openTarget({ url, ca, cert, key }: Credentials): Target {
  const agent = new Agent({ connect: { ca, cert, key }, allowH2: true });
  return {
    async call(method, path, options = {}) {
      const { body, type = "application/json", accept = "application/json", as, group } = options;
      const text = typeof body === "string" ? body : body === undefined ? undefined : JSON.stringify(body);
      const response = await agent.request({
        origin: url,
        path,
        method: method === "GET" ? "GET" : methodOf(method),
        headers: {
          accept,
          ...(text === undefined ? {} : { "content-type": type }),
          ...(as === undefined ? {} : { "impersonate-user": as }),
          ...(group === undefined ? {} : { "impersonate-group": group }),
        },
        ...(text === undefined ? {} : { body: text }),
      });
      const answered = await response.body.text();
      return { code: response.statusCode, headers: response.headers, text: answered, json: jsonOf(answered) };
    },
    async watch(path) {
      const stop = new AbortController();
      const response = await agent.request({ origin: url, path, method: "GET", signal: stop.signal });
      const events = eventsOf(response.body);
      return {
        async next() {
          const { value, done } = await events.next();
          return done === true ? undefined : value;
        },
        async close() {
          stop.abort();
          await events.return(undefined).catch(() => undefined);
        },
      };
    },
    close: () => agent.destroy(),
  };
}

function methodOf(method: string): "POST" | "PUT" | "PATCH" | "DELETE" {
  if (method === "POST" || method === "PUT" || method === "PATCH" || method === "DELETE") return method;
  throw new Error(`unknown method ${method}`);
}

function jsonOf(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}

async function* eventsOf(body: AsyncIterable<Buffer>): AsyncGenerator<WatchedEvent, undefined, undefined> {
  let rest = "";
  try {
    for await (const chunk of body) {
      rest += chunk.toString();
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
        const line = jsonOf(rest.slice(0, end));
        rest = rest.slice(end + 1);
        yield { type: textAt(line, "type"), object: isFields(line["object"]) ? line["object"] : {} };
      }
    }
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") return undefined;
    throw error;
  }
  return undefined;
}
