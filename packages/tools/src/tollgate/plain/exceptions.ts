/** Declarations that are not written as the others are. */

/** Of Effect, these are plain themselves. */
export const plainOfEffect = new Set(["Json", "JsonArray", "JsonObject"])

/** What an application sees of these: it neither writes modules nor calls what protected routes are made of. */
export const opaque: Readonly<Record<string, ReadonlyArray<string>>> = {
  ModuleDeclaration: ["name"],
  ModuleParts: [],
  BucketDecisions: []
}

/** Declarations with parts that only Effect can use. */
export const notWhole = new Set([
  "BackgroundTasks",
  "BucketDecisions",
  "bucketDecisions",
  "DeploymentTarget",
  "ModuleDeclaration",
  "ModuleParts",
  "Release",
  "SourceStore",
  "SqliteStoreOperations",
  "StoreContentsOperations",
  "StoreOperations"
])

/** What every error has, and what Effect adds to it. */
export const membersOfErrors = new Set(["name", "message", "stack", "cause", "pipe", "asEffect", "toJSON", "toString"])
