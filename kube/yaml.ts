/** The YAML parser, loaded where the first text is parsed: most nodes have none, and its text is half that of a kubeconfig's reader. */
export async function parseYaml(text: string): Promise<unknown> {
  const { parse } = await import("./yaml_parser.ts");
  return parse(text);
}
