# The Debian package: `cpack -G DEB`, in a build folder, makes perfbench_VERSION_ARCH.deb of what `cmake --install`
# installs. A package for other machines is built with -DPERFBENCH_MARCH=x86-64-v3.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "perfbench <perfbench@example.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures LLM training and finds what made it slower")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Libraries come from dpkg-shlibdeps. mpirun starts runs of several ranks; git names the revisions of `compare --ab`.
if(PERFBENCH_ENGINE AND NOT PERFBENCH_MPI STREQUAL "OFF")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS git)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
