/**
 * How tests start Node processes that import the packages of this workspace.
 */

/** The environment variable with the module that resolves imports to the bundle of the sources. */
export const bundleVariable = "TOLLGATE_SOURCE_BUNDLE"

/** The options of Node for a program that imports `@tollgate/…`: it loads the bundle of this test run, or the sources. */
export const getNodeOptions = (): ReadonlyArray<string> => {
  const bundle = process.env[bundleVariable]
  return ["--conditions=@tollgate/source", ...(bundle === undefined ? [] : [`--import=${bundle}`])]
}
