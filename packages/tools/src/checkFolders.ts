/**
 * Fails when folders or files of a package import each other in a circle, when core or the store knows a module by name,
 * when a published package has state at the level of a module, or when a package has more lines than its budget. A type
 * import counts: it is a dependency to a reader.
 */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative } from "node:path"
import { pathToFileURL } from "node:url"
import { findModuleState } from "./moduleState.ts"

const listSources = (root: string): ReadonlyArray<string> =>
  readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.tsx?$/.test(file) && !file.endsWith(".generated.ts")
  )

type Graph = Map<string, Map<string, string>>

/** Folder or file → imported folder or file → one file that imports it. */
const readImports = (root: string, toNode: (file: string) => string): Graph => {
  const graph: Graph = new Map()
  for (const file of listSources(root)) {
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

/** Comments, and texts of more than one word, in which a module may be an example. The purposes of keys are stored, too. */
const prose = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$|"(?=[^"\n]*[ -])[^"\n]*"|`(?=[^`\n]*[ ])[^`\n]*`/gm

/** The first name in the code that contains one of the words, with its file. */
export const findName = (root: string, words: RegExp): string | undefined => {
  for (const file of listSources(root)) {
    const [name] = new RegExp(`[\\w-]*(?:${words.source})[\\w-]*`, "i").exec(
      readFileSync(join(root, file), "utf8").replaceAll(prose, "")
    ) ?? [undefined]
    if (name !== undefined) return `${name} (${file})`
  }
  return undefined
}

/** State at the level of a module in a package that is published. */
const listModuleState = (packages: string, name: string): string | undefined => {
  const { private: isPrivate } = JSON.parse(readFileSync(join(packages, name, "package.json"), "utf8"))
  if (isPrivate === true) return undefined
  const files = listSources(join(packages, name, "src")).map((file) => join(name, "src", file))
  const found = files.flatMap((file) => findModuleState(file, readFileSync(join(packages, file), "utf8")))
  return found.length === 0 ? undefined : `${found.join(", ")} (see moduleState.ts)`
}

export const countLines = (root: string): number =>
  listSources(root).reduce((lines, file) => lines + readFileSync(join(root, file), "utf8").split("\n").length - 1, 0)

/** What core and the store may not know: they are below all modules. */
const modules = /webhook|deployment|opentelemetry|adminConsole|tollgate\/(?:console|sites)/

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const packages = join(import.meta.dirname, "../..")
  const budget = JSON.parse(readFileSync(join(packages, "../.ci/budget.json"), "utf8"))
  for (const name of readdirSync(packages)) {
    const root = join(packages, name, "src")
    if (!readdirSync(join(packages, name)).includes("src")) continue
    const where = relative(process.cwd(), root)
    const [lines, allowed] = [countLines(root), budget.lines[name] ?? 0]
    const higher = name === "core" || name === "store" ? findName(root, modules) : undefined
    for (const [problem, details] of Object.entries({
      [`Folders of ${where} import each other in a circle`]: findFolderCycle(root),
      [`Files of ${where} import each other in a circle`]: findFileCycle(root),
      [`${where} knows a module by name`]: higher,
      [`${where} has state that all Tollgates of a process would share`]: listModuleState(packages, name),
      [`${where} is too long`]:
        lines > allowed ? `${lines} lines, the budget is ${allowed} (.ci/budget.json)` : undefined
    })) {
      if (details === undefined) continue
      console.error(`${problem}: ${details}`)
      process.exitCode = 1
    }
  }
}
