import { stringify } from "yaml";
import type { Certificates } from "./certificates.ts";

/** A kubeconfig with one cluster and its administrator, certificates inline. */
export function kubeconfigText(server: string, certificates: Certificates): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "sandbox", cluster: { server, "certificate-authority-data": base64(certificates.caCert) } },
    ],
    users: [
      {
        name: "admin",
        user: {
          "client-certificate-data": base64(certificates.adminCert),
          "client-key-data": base64(certificates.adminKey),
        },
      },
    ],
    contexts: [{ name: "sandbox", context: { cluster: "sandbox", user: "admin" } }],
    "current-context": "sandbox",
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
