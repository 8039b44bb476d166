import type { Access, Credentials } from "../kube/index.ts";
import type { ConnectRequest } from "./command.ts";

type Overrides = Pick<ConnectRequest, "impersonation" | "insecure">;

/** Credentials of the kubeconfig with what the command line says of user, groups and certificate in its place. */
export function overriddenCredentials(credentials: Credentials, overrides: Overrides): Credentials {
  if (overrides.impersonation === undefined && overrides.insecure !== true) return credentials;
  return {
    namespace: credentials.namespace,
    access: async () => overridden(await credentials.access(), overrides),
    refresh: () => credentials.refresh(),
  };
}

function overridden(access: Access, { impersonation, insecure }: Overrides): Access {
  const headers = { ...access.headers, ...impersonationHeaders(impersonation) };
  return insecure === true
    ? { ...access, headers, tls: { ...access.tls, insecure } }
    : { ...access, headers };
}

function impersonationHeaders(impersonation: Overrides["impersonation"]): Access["headers"] {
  if (impersonation === undefined) return {};
  const { user, groups } = impersonation;
  return { "impersonate-user": user, ...(groups.length > 0 ? { "impersonate-group": groups } : {}) };
}
