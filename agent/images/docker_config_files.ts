/** Docker config files that the agent's own environment may hold. */
export function dockerConfigFiles(home: string | undefined): string[] {
  const folders = [...new Set(["/root", ...(home ? [home] : [])])];
  const named = folders.flatMap((folder) => [`${folder}/.docker/config.json`, `${folder}/.dockercfg`]);
  return ["/var/lib/kubelet/config.json", ...named, "/.docker/config.json", "/.dockercfg"];
}
