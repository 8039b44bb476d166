/** Probes and hooks of containers, as kinds that run them have them. */
import * as s from "./dsl.ts";

/** What a probe or hook does. */
function handlers({ host, path, scheme }: { host: string; path: string; scheme: string }) {
  const port = s.intOrString("Number of the port, 1 to 65535, or its name in the container.");
  const header = { name: s.text("Header name."), value: s.text("Header value.") };
  return {
    exec: s.optionalObject("Run a command in the container; exit code 0 is success.", {
      command: s.optional(
        s.strings("Command and its arguments. No shell reads it: for one, name it as the command.", {
          atomic: true,
        }),
      ),
    }),
    httpGet: s.optionalObject("Send an HTTP GET; a status from 200 to 399 is success.", {
      host: s.optional(s.text(host)),
      httpHeaders: s.optionalObjectList("Headers of the request.", "One header.", header, { atomic: true }),
      path: s.optional(s.text(path)),
      port,
      scheme: s.optional(s.text(scheme)),
    }),
    tcpSocket: s.optionalObject("Open a TCP connection; that it opens is success.", {
      host: s.optional(s.text(host)),
      port,
    }),
  };
}

/** What a container runs before it is stopped. */
export function preStopHook(description: string) {
  return s.object(
    description,
    handlers({
      host: "Name or address of the server; the pod's address by default.",
      path: "Path on the server.",
      scheme: "HTTP (the default) or HTTPS.",
    }),
  );
}

export function probe(description: string) {
  const { exec, httpGet, tcpSocket } = handlers({
    host: "Refused by admission: the pod's own address is asked.",
    path: "Path on the server; it must be given.",
    scheme: "HTTP or HTTPS; it must be given. The certificate is not verified.",
  });
  return s.object(description, {
    exec,
    failureThreshold: s.optional(
      s.int32("Number of failures in a row until the result is Failed; 1 by default."),
    ),
    grpc: s.optionalObject(
      "Not carried out: gRPC services are not asked, and a probe with nothing else is refused.",
      {
        port: s.int32("Number of the port, 1 to 65535."),
        service: s.optional(s.text("Name of the service in the request; empty by default.", { default: "" })),
      },
    ),
    httpGet,
    initialDelaySeconds: s.optional(
      s.int32("Seconds from the start of the container to the first probe; 1 by default."),
    ),
    periodSeconds: s.optional(s.int32("Seconds from one probe to the next; 1 by default.")),
    successThreshold: s.optional(
      s.int32("Number of successes in a row until the result is Succeeded; 1 by default."),
    ),
    tcpSocket,
    terminationGracePeriodSeconds: s.optional(
      s.int64("Without effect here: no pod is ended because of this probe."),
    ),
    timeoutSeconds: s.optional(s.int32("Seconds until one probe counts as failed; 1 by default.")),
  });
}
