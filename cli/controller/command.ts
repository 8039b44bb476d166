import { type Command, noArguments } from "../command.ts";

export const controller: Command = {
  name: "controller",
  summary: "Run the controller: reconcile workloads, answer admission and conversion.",
  usage: "[flags]",
  arguments: noArguments,
  details: `Takes the flags and environment of the reference's manager: POD_NAMESPACE, WEBHOOK_HOST, WEBHOOK_PORT,
WEBHOOK_CERT_DIR, WEBHOOK_CERT_WRITER, SECRET_NAME, SERVICE_NAME, CERTS_RENEW_BEFORE, CUSTOM_RESOURCE_ENABLE.
Certificates are shared through the Secret. With WEBHOOK_HOST or WEBHOOK_CERT_WRITER=fs they are files in WEBHOOK_CERT_DIR,
by default below $XDG_STATE_HOME or ~/.local/state; a directory that somebody else could change is refused.
Webhooks are answered on all addresses, or where WEBHOOK_HOST says if that is loopback.
Install the definitions first ("refit install"). --namespace restricts it to one namespace.
Ctrl-C or SIGTERM lets writes in flight finish and gives the lease back.`,
  examples: [
    "refit controller",
    "WEBHOOK_HOST=127.0.0.1 refit controller --kubeconfig kubeconfig --enable-leader-election=false",
  ],
  flags: async () => (await import("./controller_flags.ts")).controllerFlags,
  appendix: async () => (await import("./controller_flags.ts")).gatesText(),
  run: async (call) => (await import("./run.ts")).runController(call),
};
