/** How a kind is declared: its schemas, names, columns and conversion in one value, which also reads its objects. */
import type { KindDefinition, KindVersion } from "./kind.ts";
import { type KindReader, type KindReaderOptions, kindReader } from "./kind_reader.ts";

type VersionDeclaration = Omit<KindVersion, "served">;

type Optional = "group" | "shortNames" | "scope";

type KindDeclaration<Version extends VersionDeclaration> = KindReaderOptions &
  Omit<KindDefinition, "singular" | "versions" | Optional> &
  Partial<Pick<KindDefinition, Optional>> & { readonly versions: readonly Version[] };

type DeclaredKind<Version extends KindVersion> = KindDefinition<Version> &
  KindReader<KindDefinition<Version>>;

/** Fills in what is the same for nearly all kinds: group apps.kruise.io, namespaced, every version served. */
export function defineKind<const Version extends VersionDeclaration>({
  complete,
  ...declaration
}: KindDeclaration<Version>): DeclaredKind<Version & { readonly served: true }> {
  const definition = {
    group: "apps.kruise.io",
    shortNames: [],
    scope: "Namespaced" as const,
    ...declaration,
    singular: declaration.kind.toLowerCase(),
    versions: declaration.versions.map((version) => ({ ...version, served: true as const })),
  };
  return { ...definition, ...kindReader(definition, { complete }) };
}
