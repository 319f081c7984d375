/** Requires the modules that are its arguments. */
for (const specifier of process.argv.slice(2)) require(specifier)
