/** Accept headers: which form of an answer a client wants. */
import { notAcceptable } from "./api_error.ts";

type Encoding = "json" | "yaml" | "protobuf";

export interface Media {
  readonly encoding: Encoding;
  readonly as: "" | "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";
  readonly contentType: string;
  readonly pretty: boolean;
}

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

const encodings: Readonly<Record<string, Encoding>> = {
  "application/json": "json",
  "application/yaml": "yaml",
  "application/vnd.kubernetes.protobuf": "protobuf",
  "*/*": "json",
  "application/*": "json",
};

const contentTypes: Readonly<Record<Encoding, string>> = {
  json: "application/json",
  yaml: "application/yaml",
  protobuf: "application/vnd.kubernetes.protobuf",
};

export function parseAccept(header: string): Clause[] {
  const clauses = header.split(",").map((part) => {
    const [type = "", ...rest] = part.split(";").map((piece) => piece.trim());
    const parameters = new Map<string, string>();
    for (const piece of rest) {
      const equals = piece.indexOf("=");
      if (equals > 0) parameters.set(piece.slice(0, equals), piece.slice(equals + 1));
    }
    const quality = Number(parameters.get("q") ?? "1");
    return { type, parameters, quality: Number.isNaN(quality) ? 1 : quality };
  });
  return clauses.filter((clause) => clause.type !== "").sort((left, right) => right.quality - left.quality);
}

/**
 * The first clause that can be served. `protobuf` and `tables` say what this answer supports;
 * `pretty` is the query parameter. Throws 406.
 */
export function negotiate(
  header: string | undefined,
  offer: { readonly protobuf: boolean; readonly transforms: boolean },
  pretty = false,
): Media {
  for (const clause of parseAccept(header || "*/*")) {
    const encoding = encodings[clause.type];
    if (encoding === undefined) continue;
    const as = clause.parameters.get("as") ?? "";
    if (as === "Table" || as === "PartialObjectMetadata" || as === "PartialObjectMetadataList") {
      const known = clause.parameters.get("g") === "meta.k8s.io" && clause.parameters.get("v") === "v1";
      if (!offer.transforms || !known || encoding === "protobuf") continue;
      return { encoding, as, contentType: contentTypes[encoding], pretty };
    }
    if (as !== "") continue;
    if (encoding === "protobuf" && !offer.protobuf) continue;
    return { encoding, as: "", contentType: contentTypes[encoding], pretty };
  }
  throw notAcceptable(["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]);
}
