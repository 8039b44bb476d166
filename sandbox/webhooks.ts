/** Calls to HTTPS webhooks, for admission and conversion. */
import { Agent, type Dispatcher } from "undici";
import type { Clock } from "../kube/core/index.ts";
import type { Faults } from "./faults.ts";
import { isFields, numberAt, textAt } from "./json.ts";

/** `host:port` or URL by `namespace/name` of a service. */
type ServiceUrls = Map<string, string>;

/** How webhooks are asked. */
export interface WebhookCalls {
  /**
   * Posts a review and gives the JSON of the answer. `clientConfig` is that of the webhook; `name` is what faults
   * match. Throws WebhookError, worded as the server words a failed call.
   */
  call(name: string, clientConfig: unknown, review: unknown, timeoutSeconds: number): Promise<unknown>;
  close(): Promise<void>;
}

export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

interface Endpoint {
  readonly url: URL;
  /** How the server names the endpoint in errors. */
  readonly shown: string;
  readonly servername: string | undefined;
  readonly ca: string | undefined;
}

/** Over HTTPS. */
export class WebhookCaller implements WebhookCalls {
  readonly #serviceUrls: ServiceUrls;
  readonly #agents = new Map<string, Agent>();

  readonly #clock: Clock;
  readonly #faults: Faults;

  constructor(serviceUrls: ServiceUrls, clock: Clock, faults: Faults) {
    this.#serviceUrls = serviceUrls;
    this.#clock = clock;
    this.#faults = faults;
  }

  async call(name: string, clientConfig: unknown, review: unknown, timeoutSeconds: number): Promise<unknown> {
    const { url, servername, ca, shown } = this.#endpoint(clientConfig);
    url.searchParams.set("timeout", `${timeoutSeconds}s`);
    const target = { verb: "webhook", resource: name, namespace: "", name, userAgent: "" };
    const post = `Post ${JSON.stringify(`${shown}?timeout=${timeoutSeconds}s`)}`;
    if (this.#faults.strike("timeout", target) !== undefined)
      throw new WebhookError(`${post}: context deadline exceeded`);
    const limit = new AbortController();
    const timer = this.#clock.after(timeoutSeconds * 1000, () => limit.abort());
    try {
      const response = await this.#agent(servername, ca).request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, */*",
          "user-agent": "kube-apiserver-admission",
        },
        body: JSON.stringify(review),
        signal: limit.signal,
      });
      return await readAnswer(response);
    } catch (error) {
      if (error instanceof WebhookError) throw error;
      throw new WebhookError(
        limit.signal.aborted ? `${post}: context deadline exceeded` : `${post}: ${callError(error)}`,
      );
    } finally {
      timer.cancel();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  #endpoint(clientConfig: unknown): Endpoint {
    const bundle = textAt(clientConfig, "caBundle");
    const ca = bundle === "" ? undefined : Buffer.from(bundle, "base64").toString();
    const text = textAt(clientConfig, "url");
    if (text !== "") return { url: new URL(text), shown: text, servername: undefined, ca };
    const service = isFields(clientConfig) ? clientConfig["service"] : undefined;
    const namespace = textAt(service, "namespace");
    const name = textAt(service, "name");
    const port = numberAt(service, "port") ?? 443;
    const base =
      this.#serviceUrls.get(`${namespace}/${name}:${port}`) ?? this.#serviceUrls.get(`${namespace}/${name}`);
    if (base === undefined) throw new WebhookError(`service ${JSON.stringify(name)} not found`);
    const url = new URL(base.includes("://") ? base : `https://${base}`);
    url.pathname = textAt(service, "path") || "/";
    const shown = `https://${name}.${namespace}.svc:${port}${url.pathname}`;
    return { url, shown, servername: `${name}.${namespace}.svc`, ca };
  }

  #agent(servername: string | undefined, ca: string | undefined): Agent {
    const key = `${servername ?? ""} ${ca ?? ""}`;
    const known = this.#agents.get(key);
    if (known !== undefined) return known;
    const connect = {
      ...(ca === undefined ? {} : { ca }),
      ...(servername === undefined ? {} : { servername }),
    };
    const agent = new Agent({ connect, allowH2: true, keepAliveTimeout: 30_000 });
    this.#agents.set(key, agent);
    return agent;
  }
}

async function readAnswer(response: Dispatcher.ResponseData): Promise<unknown> {
  const text = await response.body.text();
  if (response.statusCode < 200 || response.statusCode > 299) {
    throw new WebhookError(
      `the server responded with the status code ${response.statusCode} but did not return more information: ${text.slice(0, 200)}`,
    );
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new WebhookError(`couldn't decode the answer: ${JSON.stringify(text.slice(0, 200))}`);
  }
}

function callError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = Reflect.get(error, "code");
  const address = Reflect.get(error, "address");
  if (code === "ECONNREFUSED")
    return `dial tcp ${String(address)}:${String(Reflect.get(error, "port"))}: connect: connection refused`;
  if (
    code === "UNABLE_TO_VERIFY_LEAF_SIGNATURE" ||
    code === "SELF_SIGNED_CERT_IN_CHAIN" ||
    code === "DEPTH_ZERO_SELF_SIGNED_CERT"
  ) {
    return "tls: failed to verify certificate: x509: certificate signed by unknown authority";
  }
  return error.message;
}
