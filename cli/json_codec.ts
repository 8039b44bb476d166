/** Codecs for answers whose kind is known only at run time: objects as JSON, and server-side tables. */
import { type Codec, jsonCodec, KubeError, projectedJsonCodec } from "../kube/index.ts";
import { type AnyObject, countAt, isFields, listAt, textAt, toAnyObject } from "./fields.ts";

const plain = jsonCodec<AnyObject>();

/** Whole objects; list items get the kind and apiVersion that lists leave out. */
export function objectCodec(apiVersion: string, kind: string): Codec<AnyObject> {
  return projectedJsonCodec<AnyObject>({
    fromJson: (value) => ({ apiVersion, kind, ...toAnyObject(value) }),
    identify: plain.identify,
  });
}

export interface Table {
  readonly columns: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly {
    readonly cells: readonly unknown[];
    readonly namespace: string;
    readonly uid: string;
    readonly version: string;
  }[];
}

const tables = projectedJsonCodec<Table>({
  fromJson: toTable,
  identify: () => ({ key: "", uid: "", version: "" }),
});

/** The server's own rendering, as `kubectl get` asks for it; a list is one table. */
export const tableCodec: Codec<Table> = {
  ...tables,
  accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
  decodeList: (body, contentType) => {
    const list: unknown = JSON.parse(new TextDecoder().decode(body));
    return {
      items: [tables.decode(body, contentType)],
      resourceVersion: textAt(list, "metadata", "resourceVersion") ?? "",
      continue: textAt(list, "metadata", "continue") ?? "",
      undecodable: [],
    };
  },
};

function toTable(value: unknown): Table {
  if (!isFields(value) || value["kind"] !== "Table") {
    throw new KubeError("Decode", "the server does not print this resource as a table");
  }
  return {
    columns: listAt(value, "columnDefinitions").map((column) => ({
      name: textAt(column, "name") ?? "",
      priority: countAt(column, "priority"),
    })),
    rows: listAt(value, "rows").map((row) => ({
      cells: listAt(row, "cells"),
      namespace: textAt(row, "object", "metadata", "namespace") ?? "",
      uid: textAt(row, "object", "metadata", "uid") ?? "",
      version: textAt(row, "object", "metadata", "resourceVersion") ?? "",
    })),
  };
}
