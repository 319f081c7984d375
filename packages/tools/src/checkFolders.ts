/**
 * Fails when folders or files of a package import each other in a circle. A type import counts: it is a dependency to a
 * reader.
 */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative } from "node:path"
import { pathToFileURL } from "node:url"

type Graph = Map<string, Map<string, string>>

/** Folder or file → imported folder or file → one file that imports it. */
const readImports = (root: string, toNode: (file: string) => string): Graph => {
  const graph: Graph = new Map()
  for (const file of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue
    for (const [, specifier = ""] of readFileSync(join(root, file), "utf8").matchAll(/from "(\.[^"]+)"/g)) {
      const [node, imported] = [toNode(file), toNode(normalize(join(dirname(file), specifier)))]
      if (node === imported) continue
      const edges = graph.get(node) ?? new Map<string, string>()
      graph.set(node, edges.set(imported, file))
    }
  }
  return graph
}

/** The first circle that a walk from `node` closes, as the nodes along it. */
const findCycle = (
  graph: Graph,
  node: string,
  path: ReadonlyArray<string>,
  visited: Set<string>
): ReadonlyArray<string> | undefined => {
  if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
  if (visited.has(node)) return undefined
  visited.add(node)
  for (const imported of graph.get(node)?.keys() ?? []) {
    const cycle = findCycle(graph, imported, [...path, node], visited)
    if (cycle !== undefined) return cycle
  }
  return undefined
}

const findFirstCycle = (graph: Graph): ReadonlyArray<string> | undefined => {
  const visited = new Set<string>()
  for (const node of graph.keys()) {
    const cycle = findCycle(graph, node, [], visited)
    if (cycle !== undefined) return cycle
  }
  return undefined
}

export const findFolderCycle = (root: string): string | undefined => {
  const graph = readImports(root, dirname)
  const cycle = findFirstCycle(graph)
  return cycle
    ?.slice(1)
    .map((imported, index) => `${cycle[index]} → ${imported} (${graph.get(cycle[index] ?? "")?.get(imported)})`)
    .join(", ")
}

export const findFileCycle = (root: string): string | undefined =>
  findFirstCycle(readImports(root, (file) => file))?.join(" → ")

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const packages = join(import.meta.dirname, "../..")
  for (const name of readdirSync(packages)) {
    const root = join(packages, name, "src")
    if (!readdirSync(join(packages, name)).includes("src")) continue
    for (const [kind, cycle] of Object.entries({ Folders: findFolderCycle(root), Files: findFileCycle(root) })) {
      if (cycle === undefined) continue
      console.error(`${kind} of ${relative(process.cwd(), root)} import each other in a circle: ${cycle}`)
      process.exitCode = 1
    }
  }
}
