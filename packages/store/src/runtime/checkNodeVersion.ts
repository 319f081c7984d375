import { ConfigurationError } from "./ConfigurationError.ts"

/** As in the `engines` of the package. npm only warns about those, and an older Node fails late and without a reason. */
const oldest = { major: 22, minor: 19 }

/** Returns an error if a version of Node, such as `20.20.2`, is too old. */
export const checkNodeVersion = (version: string): ConfigurationError | undefined => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  if (major > oldest.major || (major === oldest.major && minor >= oldest.minor)) return undefined
  return new ConfigurationError({
    option: "node",
    problem: `version ${version} is too old; install Node ${oldest.major}.${oldest.minor} or later`
  })
}
