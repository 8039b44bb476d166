/** Tables of ingresses, their classes, network policies and runtime classes. */
import { fieldsAt, listAt, objectsAt, textAt, valueAt } from "../../json.ts";
import { column } from "../printer.ts";
import { labelText, simple } from "./parts.ts";

const shownHosts = 3;

export const ingressPrinter = simple(
  [
    column("Class", "Who serves it."),
    column("Hosts", "Hosts of its rules."),
    column("Address", "Where it is reached."),
    column("Ports", "443 when it has certificates."),
  ],
  (object) => [
    textAt(object, "spec", "ingressClassName") || "<none>",
    hosts(objectsAt(object, "spec", "rules").map((rule) => textAt(rule, "host"))),
    objectsAt(object, "status", "loadBalancer", "ingress")
      .map((one) => textAt(one, "ip") || textAt(one, "hostname"))
      .join(","),
    listAt(object, "spec", "tls").length > 0 ? "80, 443" : "80",
  ],
);

function hosts(all: readonly string[]): string {
  const named = all.filter((host) => host !== "");
  if (named.length === 0) return "*";
  const shown = named.slice(0, shownHosts).join(",");
  return named.length > shownHosts ? `${shown} + ${named.length - shownHosts} more...` : shown;
}

export const ingressClassPrinter = simple(
  [column("Controller", "Who serves the class."), column("Parameters", "Object with its settings.")],
  (object) => [textAt(object, "spec", "controller"), parameters(valueAt(object, "spec", "parameters"))],
);

function parameters(reference: unknown): string {
  if (reference === undefined) return "<none>";
  const group = textAt(reference, "apiGroup");
  return `${textAt(reference, "kind")}${group === "" ? "" : `.${group}`}/${textAt(reference, "name")}`;
}

export const networkPolicyPrinter = simple([column("Pod-Selector", "Pods that it is for.")], (object) => [
  labelText(fieldsAt(object, "spec", "podSelector", "matchLabels")),
]);

export const runtimeClassPrinter = simple(
  [column("Handler", "Name in the runtime's settings.")],
  (object) => [textAt(object, "handler")],
);
