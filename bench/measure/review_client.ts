/** Asks a webhook server as the API server does: AdmissionReviews over one HTTP/2 connection, verified with its caBundle. */
import { type ClientHttp2Session, connect, constants } from "node:http2";
import type { Client } from "../../kube/index.ts";
import { BenchError, messageOf } from "../errors.ts";

const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

export interface WebhookAddress {
  readonly url: URL;
  /** PEM. */
  readonly ca: string;
}

/** The webhook of the manager that answers for creations of pods. Throws BenchError when it cannot be called from here. */
export async function podWebhook(client: Client): Promise<WebhookAddress> {
  const list: unknown = await client.request("GET", configurations);
  for (const webhook of membersOf(list, "items").flatMap((item) => membersOf(item, "webhooks"))) {
    const { clientConfig } = fieldsOf(webhook);
    const { url, caBundle } = fieldsOf(clientConfig);
    if (typeof url !== "string" || !URL.canParse(url)) continue;
    const address = new URL(url);
    if (address.pathname !== "/mutate-pod" || typeof caBundle !== "string") continue;
    return { url: address, ca: Buffer.from(caBundle, "base64").toString("utf8") };
  }
  throw new BenchError(
    "no webhook is called at a URL that ends in /mutate-pod: the manager's must be set up by address (refit install --webhook-host), not by a Service",
  );
}

export interface ReviewClient {
  /** The answer's `response`. Throws BenchError when there is none. */
  ask(review: string): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export async function openReviewClient({ url, ca }: WebhookAddress): Promise<ReviewClient> {
  const session = await connected(url, ca);
  return {
    ask: (review) => ask(session, url.pathname, review),
    close: () => new Promise((resolve) => session.close(resolve)),
  };
}

/** Of kube-apiserver's client: what may be sent to it unasked, in one stream and in all. Node's own are 64 kB each. */
const windows = { stream: 4 * 1024 * 1024, session: 2 ** 30 };

function connected(url: URL, ca: string): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connect(url.origin, { ca, settings: { initialWindowSize: windows.stream } });
    session.once("connect", () => {
      session.setLocalWindowSize(windows.session);
      resolve(session);
    });
    session.on("error", (error) =>
      reject(new BenchError(`the webhook at ${url.origin} cannot be reached: ${messageOf(error)}`)),
    );
  });
}

function ask(session: ClientHttp2Session, path: string, review: string): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: "POST",
      [constants.HTTP2_HEADER_PATH]: `${path}?timeout=10s`,
      [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/json",
      [constants.HTTP2_HEADER_ACCEPT]: "application/json",
    });
    const chunks: Buffer[] = [];
    let status = 0;
    stream.on("response", (headers) => {
      status = headers[":status"] ?? 0;
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", (error) => reject(new BenchError(`the webhook broke off: ${messageOf(error)}`)));
    stream.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      if (status !== 200) reject(new BenchError(`the webhook answered ${status}: ${text.slice(0, 200)}`));
      else resolve(fieldsOf(fieldsOf(JSON.parse(text))["response"]));
    });
    stream.end(review);
  });
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function membersOf(value: unknown, name: string): unknown[] {
  const members = fieldsOf(value)[name];
  return Array.isArray(members) ? members : [];
}
