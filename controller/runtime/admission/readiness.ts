/** The check `webhook-ready` of `/readyz`. Spec: platform 3. */
import { request } from "node:https";

interface WebhookReadinessOptions {
  /** PEM of the CA, once certificates are in place. */
  caCert(): string | undefined;
  /** Port of the admission server, once it listens. */
  port(): number | undefined;
  /** Where it listens; undefined: on all addresses. */
  host: string | undefined;
  /** Milliseconds for one check; default 2000. */
  timeoutMs?: number;
}

/** Resolves to why the webhooks cannot be called, or undefined when they can. Never rejects. */
export function webhookReadiness(options: WebhookReadinessOptions): () => Promise<string | undefined> {
  return async () => {
    const ca = options.caCert();
    const port = options.port();
    if (ca === undefined || port === undefined) return "webhook controller has not initialized";
    return new Promise((resolve) => {
      const call = request(
        {
          host: options.host ?? "localhost",
          // The name that certificates of every source have.
          servername: "localhost",
          port,
          path: "/healthz",
          ca,
          agent: false,
          timeout: options.timeoutMs ?? 2000,
        },
        (response) => {
          response.resume();
          resolve(response.statusCode === 200 ? undefined : `webhook server answered ${response.statusCode}`);
        },
      );
      call.on("timeout", () => call.destroy(new Error("no answer in time")));
      call.on("error", (error) => resolve(`webhook server cannot be reached: ${error.message}`));
      call.end();
    });
  };
}
