// Package pack makes packages of plugins, signs them and puts them into registries, for their
// authors. Begin with [ReadProject] and [Project.Build].
package pack
