/** What the client needs to know to reach and convince an API server. */

export interface TlsMaterial {
  /** PEM. Absent: the system's roots. */
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  passphrase?: string | undefined;
  /** Name to ask for and to verify instead of the server's host. */
  serverName?: string | undefined;
  /** True only when the kubeconfig says `insecure-skip-tls-verify`. */
  insecure?: boolean | undefined;
}

export interface Access {
  /** Base URL without a trailing slash; may have a path. */
  server: string;
  /** Authorization and impersonation headers; one with several values is sent several times. */
  headers: Readonly<Record<string, string | readonly string[]>>;
  tls: TlsMaterial;
  /** `http://`, `https://` or `socks5://` URL. */
  proxy?: string | undefined;
  /** Changes when server, TLS material or proxy change: connections are made again then. */
  connection: string;
}

export interface Credentials {
  /** Namespace of the context, `default` when it names none. */
  readonly namespace: string;
  /** Cheap: cached until tokens or certificates may have changed. Throws KubeError `Config`. */
  access(): Promise<Access>;
  /** Forgets what was cached, after the server answered 401. */
  refresh(): Promise<void>;
}

/** Fixed credentials, for tests and local servers. */
export function fixedCredentials(
  server: string,
  options: { headers?: Record<string, string>; tls?: TlsMaterial; namespace?: string } = {},
): Credentials {
  const base = server.replace(/\/+$/, "");
  const access: Access = {
    server: base,
    headers: options.headers ?? {},
    tls: options.tls ?? {},
    connection: base,
  };
  return {
    namespace: options.namespace ?? "default",
    access: () => Promise.resolve(access),
    refresh: () => Promise.resolve(),
  };
}
