/**
 * Fails when folders of a package import each other in a circle. A type import counts: it is a dependency to a reader.
 */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative } from "node:path"
import { pathToFileURL } from "node:url"

type Graph = Map<string, Map<string, string>>

/** Folder → imported folder → one file that imports it. */
const readImports = (root: string): Graph => {
  const graph: Graph = new Map()
  for (const file of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue
    for (const [, specifier = ""] of readFileSync(join(root, file), "utf8").matchAll(/from "(\.[^"]+)"/g)) {
      const [folder, imported] = [dirname(file), dirname(normalize(join(dirname(file), specifier)))]
      if (folder === imported) continue
      const edges = graph.get(folder) ?? new Map<string, string>()
      graph.set(folder, edges.set(imported, file))
    }
  }
  return graph
}

/** The first circle that a walk from `folder` closes, as the folders along it. */
const findCycle = (
  graph: Graph,
  folder: string,
  path: ReadonlyArray<string>,
  visited: Set<string>
): ReadonlyArray<string> | undefined => {
  if (path.includes(folder)) return [...path.slice(path.indexOf(folder)), folder]
  if (visited.has(folder)) return undefined
  visited.add(folder)
  for (const imported of graph.get(folder)?.keys() ?? []) {
    const cycle = findCycle(graph, imported, [...path, folder], visited)
    if (cycle !== undefined) return cycle
  }
  return undefined
}

export const findFolderCycle = (root: string): string | undefined => {
  const graph = readImports(root)
  const visited = new Set<string>()
  for (const folder of graph.keys()) {
    const cycle = findCycle(graph, folder, [], visited)
    if (cycle === undefined) continue
    return cycle
      .slice(1)
      .map((imported, index) => `${cycle[index]} → ${imported} (${graph.get(cycle[index] ?? "")?.get(imported)})`)
      .join(", ")
  }
  return undefined
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const packages = join(import.meta.dirname, "../..")
  for (const name of readdirSync(packages)) {
    const root = join(packages, name, "src")
    const cycle = readdirSync(join(packages, name)).includes("src") ? findFolderCycle(root) : undefined
    if (cycle === undefined) continue
    console.error(`Folders of ${relative(process.cwd(), root)} import each other in a circle: ${cycle}`)
    process.exitCode = 1
  }
}
