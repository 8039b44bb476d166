/** Settings of the webhooks out of environment variables. Spec: platform 2.4. */
import { isAbsolute, join } from "node:path";
import { isLoopback } from "../../../kube/index.ts";
import { renewBefore } from "./certificates/certificate_set.ts";

export interface WebhookSettings {
  /** Namespace of this program, its Service and its Secret. */
  readonly namespace: string;
  readonly service: string;
  readonly secret: string;
  /** Reached by URL instead of by Service. */
  readonly host: string | undefined;
  readonly port: number;
  /** Where to listen; undefined: on all addresses. */
  readonly listenHost: string | undefined;
  /** Where certificates are kept or copied to; undefined: nowhere, which is enough with a Secret. */
  readonly certificateDirectory: string | undefined;
  /** `secret`: shared through the API server; `fs`: files only; `external`: somebody else's Secret, read only. */
  readonly certificates: "secret" | "fs" | "external";
  /** Milliseconds before its end that a certificate is renewed. */
  readonly renewBeforeMs: number;
}

/** Throws an Error that names the variable when a value cannot be used. */
export function webhookSettings(
  env: Readonly<Record<string, string | undefined>>,
  gates: { externalCerts: boolean },
): WebhookSettings {
  const host = env["WEBHOOK_HOST"] || undefined;
  const writer = env["WEBHOOK_CERT_WRITER"] ?? "";
  const portText = env["WEBHOOK_PORT"] || "9876";
  const port = Number(portText);
  if (!/^\d+$/.test(portText) || port > 65535) {
    throw new Error(`WEBHOOK_PORT must be a port number, but is ${JSON.stringify(portText)}`);
  }
  const files = writer === "fs" || (writer === "" && host !== undefined);
  const certificates = gates.externalCerts ? "external" : files ? "fs" : "secret";
  return {
    namespace: env["POD_NAMESPACE"] || "kruise-system",
    service: env["SERVICE_NAME"] || "kruise-webhook-service",
    secret: env["SECRET_NAME"] || "kruise-webhook-certs",
    host,
    port,
    // Any other name or address may be that of something in front of this machine.
    listenHost: host !== undefined && isLoopback(host) ? host : undefined,
    certificateDirectory:
      env["WEBHOOK_CERT_DIR"] || (certificates === "fs" ? stateDirectory(env) : undefined),
    certificates,
    renewBeforeMs: renewBefore(env["CERTS_RENEW_BEFORE"]),
  };
}

/** The user's own place for state. A temporary folder belongs to all users: another one could have left an authority there. */
function stateDirectory(env: Readonly<Record<string, string | undefined>>): string {
  const given = env["XDG_STATE_HOME"] ?? "";
  const home = env["HOME"] ?? "";
  // The specification of base directories ignores relative ones.
  if (isAbsolute(given)) return join(given, "refit", "webhook-certs");
  if (isAbsolute(home)) return join(home, ".local", "state", "refit", "webhook-certs");
  throw new Error(
    "WEBHOOK_CERT_DIR must name a directory for certificates: there is no HOME to keep them in",
  );
}
